//! JSON of the types that are text outside. The shape of a schema and of values is the same wherever it is written: in a
//! database, in both APIs and in an export.

use super::{PartKey, SettingKey};
use crate::{
    model::{ChannelKind, Description, Title},
    policy::Permission,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use std::borrow::Cow;

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
