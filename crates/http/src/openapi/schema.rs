//! The envelope as a schema.

use utoipa::openapi::{ObjectBuilder, RefOr, Schema, Type, schema::AdditionalProperties};

/// The media type of every body but one.
pub(super) const JSON: &str = "application/json";

/// The envelope of this code around this data.
pub(super) fn envelope(code: u16, data: RefOr<Schema>) -> RefOr<Schema> {
    let number = ObjectBuilder::new().schema_type(Type::Integer).enum_values(Some([code]));
    let sentence =
        ObjectBuilder::new().schema_type(Type::String).description(Some("The result in a sentence."));
    closed_object()
        .property("code", number)
        .required("code")
        .property("message", sentence)
        .required("message")
        .property("data", data)
        .required("data")
        .into()
}

/// An object without surprises.
pub(super) fn closed_object() -> ObjectBuilder {
    ObjectBuilder::new().additional_properties(Some(AdditionalProperties::FreeForm(false)))
}
