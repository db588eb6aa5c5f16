//! Guilds and permissions, as shown to the session's user.

use super::{Snowflake, public::snowflakes};
use crate::openapi::closed_object;
use companion_domain::{
    model::{PictureServer, Subscription},
    policy::{GuildRole, Permission, PermissionSet},
    rules::ListedGuild,
};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{Deprecated, Object, ObjectBuilder, RefOr, Schema, schema::Type},
};

shapes! {
    /// A guild that the user has a role in and that has the bot.
    pub(crate) struct Guild<'a>((listed, pictures): (&'a ListedGuild, &PictureServer)) {
        #[schema(min_length = 1, max_length = 256, examples("Harbour Town"))]
        name: &'a str = listed.guild.name.as_str(),
        /// The guild's id.
        id: Snowflake = listed.guild.id.into(),
        /// URL of the guild's icon, or of the platform's default picture for its id.
        #[schema(
            pattern = "^[Hh][Tt][Tt][Pp][Ss]?://[!-~]+$",
            max_length = 4096,
            examples("https://cdn.example/embed/avatars/3.png")
        )]
        icon: Cow<'a, str> = listed.icon(pictures),
        /// Number of members.
        #[schema(minimum = 0, maximum = 2_147_483_647, examples(1200))]
        members: u32 = listed.guild.members.get(),
        /// The owner shown for the guild.
        owner: Snowflake = listed.guild.owner.into(),
        #[schema(inline)]
        role: Role = listed.role.into(),
        #[schema(schema_with = always_true)]
        service: bool = true,
        plus: Plus = listed.plus.as_deref().into(),
        permissions: Permissions = Permissions(listed.permissions),
    }

    /// The premium status of a guild.
    pub struct Plus(subscription: Option<&Subscription>) {
        plus: PlusRecord = subscription.into(),
        /// Whether a subscription names the guild.
        active: bool = subscription.is_some(),
    }

    /// The subscription that makes a guild premium; empty if there is none.
    struct PlusRecord(subscription: Option<&Subscription>) {
        /// The user who pays; empty if there is no subscription.
        #[schema(pattern = "^([1-9][0-9]{0,19})?$", examples("190000000000000001"))]
        userid: String = subscription.map(|plus| plus.user.to_string()).unwrap_or_default(),
        /// The guilds that the subscription makes premium.
        #[schema(max_items = 1000)]
        guilds: Vec<Snowflake> =
            subscription.map(|plus| snowflakes(plus.guilds.as_slice())).unwrap_or_default(),
        /// Maximum number of guilds of the subscription.
        #[schema(minimum = 0, maximum = 2_147_483_647, examples(3))]
        slots: u32 = subscription.map_or(0, |plus| plus.slots.get()),
    }
}

/// The user's role in the guild, the strongest that fits.
#[derive(Debug, Serialize)]
pub struct Role(&'static str);

impl From<GuildRole> for Role {
    fn from(role: GuildRole) -> Self {
        Self(role.as_str())
    }
}

impl PartialSchema for Role {
    fn schema() -> RefOr<Schema> {
        let names = ObjectBuilder::new()
            .schema_type(Type::String)
            .enum_values(Some(GuildRole::ALL.map(GuildRole::as_str)));
        names.description(Some("The user's role in the guild, the strongest that fits.")).into()
    }
}

impl ToSchema for Role {}

fn always_true() -> Object {
    ObjectBuilder::new()
        .schema_type(Type::Boolean)
        .description(Some("Whether the bot is in the guild. Always true; to be removed."))
        .enum_values(Some([true]))
        .deprecated(Some(Deprecated::True))
        .build()
}

/// All permissions by name, in the contract's order.
pub(crate) struct Permissions(pub(crate) PermissionSet);

impl Serialize for Permissions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(Permission::ALL.iter().map(|key| (key.as_str(), self.0.contains(*key))))
    }
}

impl PartialSchema for Permissions {
    fn schema() -> RefOr<Schema> {
        let allowed = ObjectBuilder::new().schema_type(Type::Boolean);
        by_permission("What the user may do in the guild. Every key is always present.", allowed)
    }
}

impl ToSchema for Permissions {}

/// Returns the schema of an object that has a value with this schema for every permission.
pub fn by_permission(description: &str, value: impl Into<RefOr<Schema>>) -> RefOr<Schema> {
    let (object, value) = (closed_object().description(Some(description)), value.into());
    let with_key = |object: ObjectBuilder, key: &Permission| {
        object.property(key.as_str(), value.clone()).required(key.as_str())
    };
    Permission::ALL.iter().fold(object, with_key).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use companion_testkit::world::{a_guild, a_subscription};
    use serde_json::json;
    use std::sync::Arc;

    #[test]
    fn a_guild_has_the_fields_of_the_contract() {
        let listed = ListedGuild {
            guild: Arc::new(a_guild(7)),
            role: GuildRole::Owner,
            plus: Some(Arc::new(a_subscription(3, &[7, 9]))),
            permissions: PermissionSet::EMPTY,
        };
        let pictures = PictureServer::new("https://cdn.example".parse().unwrap());
        let mut shown = serde_json::to_value(Guild::from((&listed, &pictures))).unwrap();
        assert_eq!(shown["permissions"].take().as_object().unwrap().len(), 20);
        let expected = json!({
            "name": "Guild 7",
            "id": "7",
            "icon": "https://cdn.example/icons/7.png",
            "members": 42,
            "owner": "1",
            "role": "Owner",
            "service": true,
            "plus": {"plus": {"userid": "3", "guilds": ["7", "9"], "slots": 2}, "active": true},
            "permissions": null,
        });
        assert_eq!(shown, expected);
    }
}
