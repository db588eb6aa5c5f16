//! Settings of a guild: the bot publishes a schema, people and the bot change values, the bot confirms them.
//!
//! Everything here is a pure function of its arguments. A store calls [`Change::decide`] inside the transaction that
//! writes, so that schema, values and permissions are those of that moment.

mod change;
mod field;
mod schema;
mod value;

pub use self::{
    change::{
        Access, Authority, Change, ChangedField, Decided, Edit, HistoryEntry, Origin, Problem, Rejected,
        Rights, Stored, UserStanding,
    },
    field::{Bounds, Choice, Field, FieldKind, FieldType, Many, repeated},
    schema::{PartKey, Schema, Section, SettingKey},
    value::{Value, Values},
};

use crate::{
    model::{ChannelKind, Description, Title},
    policy::Permission,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use std::borrow::Cow;

/// JSON of types that are text. The shape of a schema and of values is the same in a database, in both APIs and in an
/// export.
macro_rules! as_text {
    ($($name:ty),+) => {$(
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Cow::<str>::deserialize(deserializer)?.parse().map_err(D::Error::custom)
            }
        }
    )+};
}

as_text!(PartKey, SettingKey, Title, Description, Permission, ChannelKind);
