//! Answers of success.

use super::{JSON, header};
use crate::envelope::SUCCESS;
use utoipa::openapi::{
    ContentBuilder, Object, ObjectBuilder, RefOr, ResponseBuilder, Schema, Type, schema::AdditionalProperties,
};

/// An answer of success with this data.
pub(super) fn success(
    description: &str,
    data: impl Into<RefOr<Schema>>,
    cache_control: &str,
) -> ResponseBuilder {
    let content = ContentBuilder::new().schema(Some(Schema::Object(envelope(SUCCESS, data.into()))));
    header::usual(ResponseBuilder::new().description(description), cache_control)
        .content(JSON, content.build())
}

/// The answer to a caller that has the newest bytes already.
pub(super) fn not_modified(cache_control: &str) -> ResponseBuilder {
    let response = ResponseBuilder::new().description("The caller has the newest answer already.");
    header::with(header::usual(response, cache_control), "ETag")
}

/// The envelope of this code around this data.
pub(super) fn envelope(code: u16, data: RefOr<Schema>) -> Object {
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
        .build()
}

/// An object without surprises.
pub(super) fn closed_object() -> ObjectBuilder {
    ObjectBuilder::new().additional_properties(Some(AdditionalProperties::FreeForm(false)))
}
