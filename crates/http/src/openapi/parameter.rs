//! Parameters of operations.

use utoipa::{
    ToSchema,
    openapi::{
        Object, ObjectBuilder, Ref, RefOr, Required, Schema, Type,
        path::{Parameter, ParameterBuilder, ParameterIn},
    },
};

/// A header that may be left out.
pub(super) fn optional_header(name: &str, description: &str, schema: Object) -> Parameter {
    parameter(ParameterIn::Header, name, description, Schema::Object(schema))
        .required(Required::False)
        .build()
}

/// A header that a security scheme asks for. Such a scheme cannot say what the header looks like; this can.
pub(super) fn credential(name: &str, description: &str, schema: impl Into<RefOr<Schema>>) -> Parameter {
    parameter(ParameterIn::Header, name, description, schema).required(Required::True).build()
}

/// A part of the path.
pub(super) fn segment(name: &str, description: &str, schema: impl Into<RefOr<Schema>>) -> Parameter {
    parameter(ParameterIn::Path, name, description, schema).required(Required::True).build()
}

/// A parameter of the query.
pub(super) fn query(name: &str, description: &str, schema: impl Into<RefOr<Schema>>) -> ParameterBuilder {
    parameter(ParameterIn::Query, name, description, schema).required(Required::False)
}

fn parameter(
    place: ParameterIn,
    name: &str,
    description: &str,
    schema: impl Into<RefOr<Schema>>,
) -> ParameterBuilder {
    ParameterBuilder::new().name(name).parameter_in(place).description(Some(description)).schema(Some(schema))
}

/// Any text, with an example.
pub(super) fn plain_text(example: &str) -> Object {
    ObjectBuilder::new().schema_type(Type::String).examples([example]).build()
}

/// A shape that stands among the components.
pub(super) fn reference<T: ToSchema>() -> RefOr<Schema> {
    Ref::from_schema_name(T::name()).into()
}
