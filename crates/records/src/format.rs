//! How one value stands in JSON.

use crate::node::{Mistakes, Node};
use serde::{Serialize, Serializer};
use std::marker::PhantomData;
use utoipa::openapi::{
    ObjectBuilder, RefOr, Schema, Type,
    schema::{AdditionalProperties, SchemaType},
};

/// How a value is read, written and described.
pub trait Format {
    /// What it is in the domain.
    type Value;

    /// What a field of this format is where it is absent; nothing where it must be there.
    const ABSENT: Option<Self::Value> = None;

    /// Reads it, or notes what is wrong.
    fn read(node: Node<'_, '_>, mistakes: &mut Mistakes) -> Option<Self::Value>;

    /// Whether a field of this format is written: not where absence says the same.
    fn is_written(_: &Self::Value) -> bool {
        true
    }

    /// Writes it.
    fn write<S: Serializer>(value: &Self::Value, serializer: S) -> Result<S::Ok, S::Error>;

    /// Describes it.
    fn schema() -> RefOr<Schema>;
}

/// A field that older versions did not write: where it is absent, there is nothing.
pub(crate) struct AddedLater<F>(PhantomData<F>);

impl<F: Format> Format for AddedLater<F> {
    type Value = Option<F::Value>;

    const ABSENT: Option<Self::Value> = Some(None);

    fn read(node: Node<'_, '_>, mistakes: &mut Mistakes) -> Option<Self::Value> {
        Option::<F>::read(node, mistakes)
    }

    fn is_written(value: &Self::Value) -> bool {
        value.is_some()
    }

    fn write<S: Serializer>(value: &Self::Value, serializer: S) -> Result<S::Ok, S::Error> {
        Option::<F>::write(value, serializer)
    }

    fn schema() -> RefOr<Schema> {
        Option::<F>::schema()
    }
}

/// A value that is written in its format.
pub(crate) struct Written<'a, F: Format>(pub(crate) &'a F::Value);

impl<F: Format> Serialize for Written<'_, F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        F::write(self.0, serializer)
    }
}

/// Null stands for nothing.
impl<F: Format> Format for Option<F> {
    type Value = Option<F::Value>;

    fn read(node: Node<'_, '_>, mistakes: &mut Mistakes) -> Option<Self::Value> {
        if node.value.is_null() { Some(None) } else { F::read(node, mistakes).map(Some) }
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
            other => other,
        }
    }
}

/// An object that has no fields but those described.
pub(crate) fn closed_object() -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .additional_properties(Some(AdditionalProperties::FreeForm(false)))
}

/// The schema with this description, where there is one.
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
