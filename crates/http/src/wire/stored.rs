//! What the bot has reported, as the operator looks it up: the fields that a PUT takes, so that it can be put back.

use super::{Snowflake, User};
use companion_domain::model::{Feedback, Guild, RoleBindings, RoleKey, RoleSet, StaffGrants, Subscription};
use serde::{Serialize, Serializer};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ArrayBuilder, ObjectBuilder, Ref, RefOr, Schema, schema::AdditionalProperties},
};

/// A guild that has the bot, as it was reported.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredGuild<'a> {
    #[schema(min_length = 1, max_length = 256, examples("Harbour Town"))]
    name: &'a str,
    /// The address of the icon; null where the platform's default picture is shown.
    #[schema(required, pattern = "^[Hh][Tt][Tt][Pp][Ss]?://[!-~]+$", max_length = 2048)]
    icon: Option<&'a str>,
    /// How many members the guild has.
    #[schema(minimum = 0, maximum = 2_147_483_647, examples(1200))]
    members: u32,
    /// The owner that is shown.
    owner: Snowflake,
    /// Whether the bot has been set up there.
    setup: bool,
    /// Whether it is linked to a game server.
    linked: bool,
    #[schema(inline)]
    roles: Bindings<'a>,
}

impl<'a> From<&'a Guild> for StoredGuild<'a> {
    fn from(guild: &'a Guild) -> Self {
        Self {
            name: guild.name.as_str(),
            icon: guild.icon.as_ref().map(|icon| icon.as_str()),
            members: guild.members.get(),
            owner: guild.owner.into(),
            setup: guild.setup,
            linked: guild.linked,
            roles: Bindings(&guild.bindings),
        }
    }
}

struct Bindings<'a>(&'a RoleBindings);

impl Serialize for Bindings<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, roles)| (key.as_str(), ids(roles))))
    }
}

impl PartialSchema for Bindings<'_> {
    fn schema() -> RefOr<Schema> {
        let object = ObjectBuilder::new()
            .description(Some("Which platform roles carry which right. A key without roles is absent."))
            .additional_properties(Some(AdditionalProperties::FreeForm(false)));
        let id = Ref::from_schema_name(Snowflake::name());
        let roles = ArrayBuilder::new().items(id).min_items(Some(1)).max_items(Some(RoleSet::MAX)).build();
        let with_key = |object: ObjectBuilder, key: &RoleKey| object.property(key.as_str(), roles.clone());
        RoleKey::ALL.iter().fold(object, with_key).into()
    }
}

impl ToSchema for Bindings<'_> {}

/// The roles of a member, as they were reported.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredMember {
    /// Platform roles; none where the bot reported none.
    #[schema(max_items = 500)]
    roles: Vec<Snowflake>,
}

impl From<&RoleSet> for StoredMember {
    fn from(roles: &RoleSet) -> Self {
        Self { roles: ids(roles) }
    }
}

/// A user's premium subscription, as it was reported.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredPlus {
    /// The guilds that are premium by it.
    #[schema(max_items = 1000)]
    guilds: Vec<Snowflake>,
    /// How many guilds it could be spent on.
    #[schema(minimum = 0, maximum = 2_147_483_647, examples(3))]
    slots: u32,
}

impl From<&Subscription> for StoredPlus {
    fn from(subscription: &Subscription) -> Self {
        let guilds = subscription.guilds.as_slice().iter().copied().map(Snowflake::from).collect();
        Self { guilds, slots: subscription.slots.get() }
    }
}

/// What a user is granted by name, as it was reported.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredStaff {
    /// The names of permissions.
    #[schema(examples(json!(["SUPPORT", "DOCWRITER"])))]
    permissions: Vec<&'static str>,
}

impl From<StaffGrants> for StoredStaff {
    fn from(grants: StaffGrants) -> Self {
        Self { permissions: grants.iter().map(|grant| grant.as_str()).collect() }
    }
}

/// An entry of feedback, as it was reported. Here it may have any rating.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredFeedback<'a> {
    /// The words; a rating may come without any.
    #[schema(max_length = 4000, examples("Set up in five minutes."))]
    feedback: &'a str,
    /// The stars.
    #[schema(minimum = 1, maximum = 5, examples(5))]
    rating: u8,
    /// When it was submitted, in seconds since 1970.
    #[schema(minimum = 0, examples(1_700_000_000))]
    timestamp: i64,
    submitter: User<'a>,
}

impl<'a> From<&'a Feedback> for StoredFeedback<'a> {
    fn from(entry: &'a Feedback) -> Self {
        Self {
            feedback: entry.text.as_str(),
            rating: entry.rating.stars(),
            timestamp: entry.submitted_at.seconds(),
            submitter: (&entry.submitter).into(),
        }
    }
}

fn ids(roles: &RoleSet) -> Vec<Snowflake> {
    roles.as_slice().iter().copied().map(Snowflake::from).collect()
}
