//! The JSON format of a value.

use crate::node::{FieldErrors, Node};
use serde::{Serialize, Serializer};
use std::{marker::PhantomData, sync::Arc};
use utoipa::openapi::{
    ArrayBuilder, ObjectBuilder, RefOr, Schema, Type,
    schema::{AdditionalProperties, SchemaType},
};

/// How a value is read from JSON, written to it, and described by a schema.
pub trait Format {
    /// The type in the domain.
    type Value;

    /// Returns the value of an absent field. `None` if the field is required.
    fn absent() -> Option<Self::Value> {
        None
    }

    /// Reads the value. Records what is wrong, and then returns `None`.
    fn read(node: Node<'_, '_>, errors: &mut FieldErrors) -> Option<Self::Value>;

    /// Returns whether the field is written. It is omitted if absence has the same meaning.
    fn is_written(_: &Self::Value) -> bool {
        true
    }

    /// Writes the value.
    fn write<S: Serializer>(value: &Self::Value, serializer: S) -> Result<S::Ok, S::Error>;

    /// Returns the schema.
    fn schema() -> RefOr<Schema>;
}

/// A field that may be absent or null, and has its default value then: an option, or one that older versions and older
/// kits do not write.
pub(crate) struct OrDefault<F>(PhantomData<F>);

impl<F: Format<Value: Default + PartialEq>> Format for OrDefault<F> {
    type Value = F::Value;

    fn absent() -> Option<F::Value> {
        Some(F::Value::default())
    }

    fn read(node: Node<'_, '_>, errors: &mut FieldErrors) -> Option<F::Value> {
        Option::<F>::read(node, errors).map(Option::unwrap_or_default)
    }

    fn is_written(value: &F::Value) -> bool {
        *value != F::Value::default()
    }

    fn write<S: Serializer>(value: &F::Value, serializer: S) -> Result<S::Ok, S::Error> {
        F::write(value, serializer)
    }

    fn schema() -> RefOr<Schema> {
        Option::<F>::schema()
    }
}

/// Serializes a value in its format.
pub(crate) struct Written<'a, F: Format>(pub(crate) &'a F::Value);

impl<F: Format> Serialize for Written<'_, F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        F::write(self.0, serializer)
    }
}

/// `None` is written as null.
impl<F: Format> Format for Option<F> {
    type Value = Option<F::Value>;

    fn read(node: Node<'_, '_>, errors: &mut FieldErrors) -> Option<Self::Value> {
        if node.value.is_null() { Some(None) } else { F::read(node, errors).map(Some) }
    }

    fn write<S: Serializer>(value: &Self::Value, serializer: S) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => F::write(value, serializer),
            None => serializer.serialize_none(),
        }
    }

    fn schema() -> RefOr<Schema> {
        match F::schema() {
            RefOr::T(Schema::Object(mut object)) => {
                if let SchemaType::Type(kind) = object.schema_type {
                    object.schema_type = SchemaType::Array(vec![kind, Type::Null]);
                }
                Schema::Object(object).into()
            }
            RefOr::T(Schema::Array(mut array)) => {
                array.schema_type = SchemaType::Array(vec![Type::Array, Type::Null]);
                Schema::Array(array).into()
            }
            other => other,
        }
    }
}

impl<F: Format> Format for Vec<F> {
    type Value = Vec<F::Value>;

    fn read(node: Node<'_, '_>, errors: &mut FieldErrors) -> Option<Self::Value> {
        node.list(errors, F::read)
    }

    fn write<S: Serializer>(value: &Self::Value, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(value.iter().map(Written::<F>))
    }

    fn schema() -> RefOr<Schema> {
        ArrayBuilder::new().items(F::schema()).into()
    }
}

/// A list that is shared.
impl<F: Format> Format for Arc<[F]> {
    type Value = Arc<[F::Value]>;

    fn read(node: Node<'_, '_>, errors: &mut FieldErrors) -> Option<Self::Value> {
        node.list(errors, F::read).map(Into::into)
    }

    fn write<S: Serializer>(value: &Self::Value, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(value.iter().map(Written::<F>))
    }

    fn schema() -> RefOr<Schema> {
        Vec::<F>::schema()
    }
}

/// Returns a builder for an object without additional fields.
pub(crate) fn closed_object() -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .additional_properties(Some(AdditionalProperties::FreeForm(false)))
}

/// Adds a description to the schema, unless it is empty.
pub(crate) fn described(schema: RefOr<Schema>, description: &str) -> RefOr<Schema> {
    if description.is_empty() {
        return schema;
    }
    let description = description.trim().to_owned();
    match schema {
        RefOr::Ref(mut reference) => {
            reference.description = description;
            reference.into()
        }
        RefOr::T(Schema::Object(mut object)) => {
            object.description = Some(description);
            Schema::Object(object).into()
        }
        RefOr::T(Schema::Array(mut array)) => {
            array.description = Some(description);
            Schema::Array(array).into()
        }
        other => other,
    }
}
