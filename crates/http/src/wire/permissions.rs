//! The twenty permissions.

use companion_domain::policy::{Permission, PermissionSet};
use serde::{Serialize, Serializer};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        ObjectBuilder, RefOr, Schema,
        schema::{AdditionalProperties, Type},
    },
};

/// Every permission by its name, in the contract's order.
pub(crate) struct Permissions(pub(crate) PermissionSet);

impl Serialize for Permissions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(Permission::ALL.iter().map(|key| (key.as_str(), self.0.contains(*key))))
    }
}

impl PartialSchema for Permissions {
    fn schema() -> RefOr<Schema> {
        let object = ObjectBuilder::new()
            .description(Some("What the user may do in the guild. Every key is always present."))
            .additional_properties(Some(AdditionalProperties::FreeForm(false)));
        let with_key = |object: ObjectBuilder, key: &Permission| {
            let allowed = ObjectBuilder::new().schema_type(Type::Boolean);
            object.property(key.as_str(), allowed).required(key.as_str())
        };
        Permission::ALL.iter().fold(object, with_key).into()
    }
}

impl ToSchema for Permissions {}
