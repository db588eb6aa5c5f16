//! What the bot sends, with the limits of the domain. A line of a sync has the same fields and its key.

use super::{
    parameter::reference,
    pattern::{self, from_zero_to},
    success::closed_object,
};
use crate::wire::Snowflake;
use companion_domain::model::{
    Megabytes, MemberCount, Name, Prose, RoleKey, RoleSet, Roster, Shards, Slots, StaffGrant,
    SubscribedGuilds, Timestamp, WebUrl,
};
use utoipa::openapi::{
    ArrayBuilder, Object, ObjectBuilder, OneOfBuilder, Ref, RefOr, Schema, Type,
    schema::{AdditionalProperties, SchemaType},
};

/// The shapes, by name.
pub(super) fn schemas() -> Vec<(String, RefOr<Schema>)> {
    let line = |kind: &str| required(closed_object(), "kind", one_of([kind]));
    let keyed = |kind: &str, key: &str| required(line(kind), key, reference::<Snowflake>());
    let feedback_line = required(line("feedback"), "id", text(pattern::SLUG));
    let shapes = [
        ("GuildInput", guild(closed_object())),
        ("MemberInput", member(closed_object())),
        ("PlusInput", plus(closed_object())),
        ("StaffInput", staff(closed_object())),
        ("FeedbackInput", feedback(closed_object())),
        ("TeamMemberInput", team_member(closed_object())),
        ("UserInput", user(closed_object())),
        ("HeartbeatInput", heartbeat(closed_object())),
        ("ShardInput", shard(closed_object())),
        ("GuildLine", guild(keyed("guild", "id"))),
        ("MemberLine", member(required(keyed("member", "guild"), "user", reference::<Snowflake>()))),
        ("PlusLine", plus(keyed("plus", "user"))),
        ("StaffLine", staff(keyed("staff", "user"))),
        ("BlockedLine", keyed("blocked", "user")),
        ("FeedbackLine", feedback(feedback_line)),
        ("TeamLine", team_member(line("team"))),
    ];
    let mut schemas: Vec<_> =
        shapes.into_iter().map(|(name, shape)| (name.to_owned(), shape.into())).collect();
    schemas.push(("TeamInput".to_owned(), roster().into()));
    schemas.push(("SyncLine".to_owned(), sync_line().into()));
    schemas
}

/// A shape of this module.
pub(super) fn named(name: &str) -> RefOr<Schema> {
    Ref::from_schema_name(name).into()
}

fn sync_line() -> OneOfBuilder {
    let kinds =
        ["GuildLine", "MemberLine", "PlusLine", "StaffLine", "BlockedLine", "FeedbackLine", "TeamLine"];
    let described = OneOfBuilder::new().description(Some("One record, on one line."));
    kinds.into_iter().fold(described, |lines, kind| lines.item(named(kind)))
}

fn guild(object: ObjectBuilder) -> ObjectBuilder {
    let icon = ObjectBuilder::new()
        .schema_type(SchemaType::from_iter([Type::String, Type::Null]))
        .description(Some("The address of the icon; null for the platform's default picture."))
        .pattern(Some(pattern::web_url()))
        .max_length(Some(WebUrl::MAX_LENGTH));
    let with_key = |keys: ObjectBuilder, key: &RoleKey| keys.property(key.as_str(), role_ids());
    let roles = RoleKey::ALL.iter().fold(closed_object(), with_key);
    let roles = roles.description(Some("Which platform roles carry which right. A key may be absent."));
    let object = required(object, "name", bounded(&Name::LENGTH));
    let object = required(object, "icon", icon);
    let object = required(object, "members", whole(MemberCount::MAX));
    let object = required(object, "owner", reference::<Snowflake>());
    let object = required(object, "setup", flag("Whether the bot has been set up there."));
    let object = required(object, "linked", flag("Whether it is linked to a game server."));
    required(object, "roles", roles)
}

fn member(object: ObjectBuilder) -> ObjectBuilder {
    required(object, "roles", role_ids())
}

fn plus(object: ObjectBuilder) -> ObjectBuilder {
    let guilds = ArrayBuilder::new().items(reference::<Snowflake>()).max_items(Some(SubscribedGuilds::MAX));
    required(required(object, "guilds", guilds), "slots", whole(Slots::MAX))
}

fn staff(object: ObjectBuilder) -> ObjectBuilder {
    let names = one_of(StaffGrant::ALL.iter().map(|grant| grant.as_str()));
    required(object, "permissions", ArrayBuilder::new().items(RefOr::T(Schema::Object(names))))
}

fn feedback(object: ObjectBuilder) -> ObjectBuilder {
    let rating = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(1)).maximum(Some(5)).build();
    let object = required(object, "feedback", bounded(&Prose::LENGTH));
    let object = required(object, "rating", rating);
    let object = required(object, "timestamp", seconds("When it was submitted"));
    required(object, "submitter", named("UserInput"))
}

fn user(object: ObjectBuilder) -> ObjectBuilder {
    required(names(object), "id", reference::<Snowflake>())
}

fn names(object: ObjectBuilder) -> ObjectBuilder {
    let avatar = ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some("The address of a picture."))
        .pattern(Some(pattern::web_url()))
        .max_length(Some(WebUrl::MAX_LENGTH));
    let object = required(object, "username", bounded(&Name::LENGTH));
    required(required(object, "name", bounded(&Name::LENGTH)), "avatar", avatar)
}

fn team_member(object: ObjectBuilder) -> ObjectBuilder {
    let position = ObjectBuilder::new()
        .schema_type(Type::Integer)
        .description(Some("The place in the category; lower comes first."))
        .minimum(Some(i32::MIN))
        .maximum(Some(i32::MAX));
    let object = required(names(object), "discord_id", reference::<Snowflake>());
    let object = required(object, "role", bounded(&Name::LENGTH));
    let object = required(object, "color", text(pattern::COLOUR));
    let object = required(object, "category", bounded(&Name::LENGTH));
    required(object, "position", position)
}

fn roster() -> ArrayBuilder {
    ArrayBuilder::new()
        .items(named("TeamMemberInput"))
        .max_items(Some(Roster::MAX))
        .unique_items(true)
        .description(Some(
            "The whole team. Nobody stands twice in one category: entries with the same `discord_id` and `category` are \
             refused with 422.",
        ))
}

fn heartbeat(object: ObjectBuilder) -> ObjectBuilder {
    let memory = ObjectBuilder::new()
        .schema_type(Type::Number)
        .description(Some("Memory in use, in megabytes."))
        .minimum(Some(0))
        .maximum(Some(Megabytes::MAX));
    let shards = ObjectBuilder::new()
        .description(Some("Each shard by its id."))
        .property_names(Some(Schema::Object(text(&from_zero_to(u32::MAX.into())))))
        .max_properties(Some(Shards::MAX))
        .additional_properties(Some(AdditionalProperties::RefOr(named("ShardInput"))));
    let object = required(object, "memory", memory);
    required(required(object, "started_at", seconds("When the cluster started")), "shards", shards)
}

fn shard(object: ObjectBuilder) -> ObjectBuilder {
    let number = || ObjectBuilder::new().schema_type(Type::Number);
    ["heartbeatSent", "heartbeatAcknowledged", "latency"]
        .into_iter()
        .fold(object, |object, name| required(object, name, number()))
}

fn required(object: ObjectBuilder, name: &str, schema: impl Into<RefOr<Schema>>) -> ObjectBuilder {
    object.property(name, schema).required(name)
}

fn role_ids() -> ArrayBuilder {
    ArrayBuilder::new().items(reference::<Snowflake>()).max_items(Some(RoleSet::MAX))
}

fn bounded(length: &std::ops::RangeInclusive<usize>) -> Object {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .pattern(Some(pattern::WITHOUT_NUL))
        .min_length(Some(*length.start()))
        .max_length(Some(*length.end()))
        .build()
}

fn whole(largest: u32) -> Object {
    ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(0)).maximum(Some(largest)).build()
}

fn seconds(what: &str) -> Object {
    ObjectBuilder::new()
        .schema_type(Type::Number)
        .description(Some(format!("{what}, in seconds since 1970; a fraction is dropped.")))
        .minimum(Some(0))
        .exclusive_maximum(Some(Timestamp::MAX_SECONDS + 1))
        .build()
}

fn flag(description: &str) -> Object {
    ObjectBuilder::new().schema_type(Type::Boolean).description(Some(description)).build()
}

fn text(pattern: &str) -> Object {
    ObjectBuilder::new().schema_type(Type::String).pattern(Some(pattern)).build()
}

fn one_of<'a>(values: impl IntoIterator<Item = &'a str>) -> Object {
    let values: Vec<_> = values.into_iter().collect();
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(values)).build()
}
