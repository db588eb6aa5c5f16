//! Guilds, as the session's user sees them.

use super::{Permissions, Snowflake};
use companion_domain::{
    model::{PictureServer, Subscription, UserId},
    policy::GuildRole,
    rules::ListedGuild,
};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{Deprecated, ObjectBuilder, RefOr, Schema, schema::Type},
};

/// A guild that the user has a role in and that has the bot.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Guild<'a> {
    #[schema(min_length = 1, max_length = 256, examples("Harbour Town"))]
    name: &'a str,
    /// The guild's id.
    id: Snowflake,
    /// The address of the guild's icon, or of the platform's default picture for its id.
    #[schema(
        pattern = "^[Hh][Tt][Tt][Pp][Ss]?://[!-~]+$",
        max_length = 4096,
        examples("https://cdn.example/embed/avatars/3.png")
    )]
    icon: Cow<'a, str>,
    /// How many members the guild has.
    #[schema(minimum = 0, maximum = 2_147_483_647, examples(1200))]
    members: u32,
    /// The owner that is shown.
    owner: Snowflake,
    #[schema(inline)]
    role: Role,
    #[schema(inline)]
    service: Present,
    plus: Plus<'a>,
    permissions: Permissions,
}

impl<'a> Guild<'a> {
    /// The guild, with an icon that always loads.
    pub(crate) fn new(listed: &'a ListedGuild, pictures: &PictureServer) -> Self {
        Self {
            name: listed.guild.name.as_str(),
            id: listed.guild.id.into(),
            icon: listed.icon(pictures),
            members: listed.guild.members.get(),
            owner: listed.guild.owner.into(),
            role: Role(listed.role),
            service: Present,
            plus: Plus::from(listed.plus.as_deref()),
            permissions: Permissions(listed.permissions),
        }
    }
}

/// A role in a guild.
pub struct Role(pub GuildRole);

impl Serialize for Role {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.as_str())
    }
}

impl PartialSchema for Role {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some("The user's role in the guild, the strongest that fits."))
            .enum_values(Some(GuildRole::ALL.map(GuildRole::as_str)))
            .into()
    }
}

impl ToSchema for Role {}

/// Says that the bot is in the guild. Guilds without it are not listed, so this says nothing new.
struct Present;

impl Serialize for Present {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(true)
    }
}

impl PartialSchema for Present {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::Boolean)
            .description(Some("Whether the bot is in the guild. Always true; it will be removed."))
            .enum_values(Some([true]))
            .deprecated(Some(Deprecated::True))
            .into()
    }
}

impl ToSchema for Present {}

/// The premium status of a guild.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Plus<'a> {
    plus: PlusRecord<'a>,
    /// Whether a subscription names the guild.
    active: bool,
}

impl<'a> From<Option<&'a Subscription>> for Plus<'a> {
    fn from(subscription: Option<&'a Subscription>) -> Self {
        Self { plus: PlusRecord(subscription), active: subscription.is_some() }
    }
}

/// A subscription, or none, as the contract's record.
pub(crate) struct PlusRecord<'a>(Option<&'a Subscription>);

/// The subscription that makes a guild premium; empty where there is none.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PlusRecord)]
struct PlusFields {
    #[schema(inline)]
    userid: Payer,
    /// The guilds that are premium by it.
    #[schema(max_items = 1000)]
    guilds: Vec<Snowflake>,
    /// How many guilds it could be spent on.
    #[schema(minimum = 0, maximum = 2_147_483_647, examples(3))]
    slots: u32,
}

/// A user's id, or nothing.
struct Payer(Option<UserId>);

impl Serialize for Payer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Some(user) => serializer.collect_str(&user),
            None => serializer.serialize_str(""),
        }
    }
}

impl PartialSchema for Payer {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some("Who pays; empty where nobody does."))
            .pattern(Some("^([1-9][0-9]{0,19})?$"))
            .examples(["190000000000000001"])
            .into()
    }
}

impl ToSchema for Payer {}

impl Serialize for PlusRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let fields = match self.0 {
            Some(subscription) => PlusFields {
                userid: Payer(Some(subscription.user)),
                guilds: subscription.guilds.as_slice().iter().copied().map(Snowflake::from).collect(),
                slots: subscription.slots.get(),
            },
            None => PlusFields { userid: Payer(None), guilds: Vec::new(), slots: 0 },
        };
        fields.serialize(serializer)
    }
}

impl PartialSchema for PlusRecord<'_> {
    fn schema() -> RefOr<Schema> {
        PlusFields::schema()
    }
}

impl ToSchema for PlusRecord<'_> {}
