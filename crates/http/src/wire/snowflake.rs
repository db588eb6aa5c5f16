//! Ids of the platform: numbers too large for JavaScript, so they travel as text.

use companion_domain::model::{GuildId, RoleId, UserId};
use serde::{Serialize, Serializer};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ObjectBuilder, RefOr, Schema, schema::Type},
};

/// An id of the platform.
pub struct Snowflake(u64);

impl From<UserId> for Snowflake {
    fn from(id: UserId) -> Self {
        Self(id.get())
    }
}

impl From<GuildId> for Snowflake {
    fn from(id: GuildId) -> Self {
        Self(id.get())
    }
}

impl From<RoleId> for Snowflake {
    fn from(id: RoleId) -> Self {
        Self(id.get())
    }
}

impl Serialize for Snowflake {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl PartialSchema for Snowflake {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some("An id of the platform: a 64-bit number above zero, as text."))
            .pattern(Some("^[1-9][0-9]{0,19}$"))
            .examples(["190000000000000001"])
            .into()
    }
}

impl ToSchema for Snowflake {}
