//! A JSON object with a key.

use crate::{
    format::{Format, closed_object},
    node::{FieldErrors, Fields, Node, Path},
};
use companion_domain::model::{FieldError, Invalid};
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::Value;
use std::{fmt::Display, marker::PhantomData, str::FromStr};
use utoipa::openapi::{ObjectBuilder, Ref, RefOr, Schema};

/// A record: its key and its fields. Described by the macro `record!`.
pub trait Record {
    /// The type in the domain.
    type Value;
    /// The type of the key.
    type Key;

    /// The name of its schema.
    const NAME: &'static str;
    /// Whether it has fields besides its key.
    const HAS_FIELDS: bool;

    /// Returns the parts of the key.
    fn key_parts() -> Vec<KeyPart>;

    /// Reads the key from a path.
    fn key(path: PathParts<'_>, errors: &mut FieldErrors) -> Option<Self::Key>;

    /// Reads every field of the record, so that every error is recorded.
    fn read(keys: Keys<'_>, fields: &mut Fields<'_, '_>, errors: &mut FieldErrors) -> Option<Self::Value>;

    /// Writes the fields of the key.
    fn write_key<M: SerializeMap>(value: &Self::Value, map: &mut M) -> Result<(), M::Error>;

    /// Writes all other fields.
    fn write_fields<M: SerializeMap>(value: &Self::Value, map: &mut M) -> Result<(), M::Error>;

    /// Adds the schemas of all fields except the key.
    fn describe(object: ObjectBuilder) -> ObjectBuilder;

    /// Returns an example without the key.
    fn example() -> Value;
}

/// A part of a key.
pub struct KeyPart {
    /// The name of the field.
    pub field: &'static str,
    /// The name of the path parameter.
    pub parameter: &'static str,
    /// The description.
    pub description: &'static str,
    /// The schema.
    pub schema: RefOr<Schema>,
}

/// Returns the text of a path parameter.
pub type PathParts<'a> = &'a dyn Fn(&str) -> &'a str;

/// Where the key of a record comes from.
#[derive(Clone, Copy)]
pub enum Keys<'a> {
    /// From the path; the record may repeat it.
    InPath(PathParts<'a>),
    /// From the record, which must contain it.
    InRecord,
}

impl Keys<'_> {
    /// Reads a part of the key, which the record may contain under any of these names.
    pub(crate) fn read<T: FromStr<Err = Invalid> + PartialEq + Display>(
        self,
        parameter: &str,
        names: &[&'static str],
        fields: &mut Fields<'_, '_>,
        errors: &mut FieldErrors,
    ) -> Option<T> {
        let Self::InPath(path) = self else {
            return fields.required(names.first()?, errors)?.text(errors);
        };
        // The caller records an invalid path parameter. The record's value does not matter then.
        let key = path(parameter).parse::<T>().ok();
        let mut agreed = true;
        for name in names {
            let (Some(node), Some(key)) = (fields.optional(name), &key) else { continue };
            agreed &= match node.text::<T>(errors) {
                Some(repeated) if repeated == *key => true,
                Some(_) => node
                    .refuse(errors, format!("must be {key}, as in the path, or left out"))
                    .unwrap_or(false),
                None => false,
            };
        }
        key.filter(|_| agreed)
    }
}

/// Parses a path parameter as a part of a key.
pub(crate) fn part<T: FromStr<Err = Invalid>>(
    path: PathParts<'_>,
    parameter: &str,
    errors: &mut FieldErrors,
) -> Option<T> {
    let refused = |invalid: Invalid| {
        errors.add(&Path::Field(&Path::Root, parameter), format!("must be {}", invalid.expected));
    };
    path(parameter).parse().map_err(refused).ok()
}

/// Reads a record from a body, which may not be JSON, and its key from a path. Returns all errors at once. The body
/// of a record without fields is ignored.
pub fn read_body<R: Record>(
    path: PathParts<'_>,
    body: &Result<Value, serde_json::Error>,
) -> Result<R::Value, Vec<FieldError>> {
    let mut errors = FieldErrors::default();
    let nothing = Ok(Value::Object(serde_json::Map::new()));
    let body = if R::HAS_FIELDS { body } else { &nothing };
    let read = errors.document(body).and_then(|node| object::<R>(Keys::InPath(path), node, &mut errors));
    errors.unless_any(read).map_err(|in_body| {
        let mut in_path = FieldErrors::default();
        R::key(path, &mut in_path);
        in_path.followed_by(in_body)
    })
}

/// Reads a record without a key from a body, which may not be JSON. Returns all errors at once.
pub fn read_document<R: Record>(
    body: &Result<Value, serde_json::Error>,
) -> Result<R::Value, Vec<FieldError>> {
    read_body::<R>(&|_| "", body)
}

/// Reads a record. Records an error for every unknown field.
pub(crate) fn object<R: Record>(
    keys: Keys<'_>,
    node: Node<'_, '_>,
    errors: &mut FieldErrors,
) -> Option<R::Value> {
    let mut fields = node.fields(errors)?;
    let read = R::read(keys, &mut fields, errors);
    fields.finish(errors);
    read
}

/// A record without its key, as returned by a lookup and accepted by a PUT.
pub struct Body<'a, R: Record>(&'a R::Value);

impl<'a, R: Record> Body<'a, R> {
    /// Wraps a record.
    pub fn of(value: &'a R::Value) -> Self {
        Self(value)
    }
}

impl<R: Record> Serialize for Body<'_, R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        R::write_fields(self.0, &mut map)?;
        map.end()
    }
}

/// A record nested in another, without a key of its own.
pub(crate) struct Nested<R>(PhantomData<R>);

impl<R: Record> Format for Nested<R> {
    type Value = R::Value;

    fn read(node: Node<'_, '_>, errors: &mut FieldErrors) -> Option<Self::Value> {
        object::<R>(Keys::InRecord, node, errors)
    }

    fn write<S: Serializer>(value: &Self::Value, serializer: S) -> Result<S::Ok, S::Error> {
        Body::<R>(value).serialize(serializer)
    }

    fn schema() -> RefOr<Schema> {
        Ref::from_schema_name(R::NAME).into()
    }
}

/// Records the error of a check, and then returns `None`.
pub(crate) fn checked(
    check: &Result<(), Invalid>,
    fields: &Fields<'_, '_>,
    errors: &mut FieldErrors,
) -> Option<()> {
    match check {
        Ok(()) => Some(()),
        Err(Invalid { field, expected }) => fields.refuse(field, format!("must be {expected}"), errors),
    }
}

/// Returns the schema of a record without its key.
pub(crate) fn body_schema<R: Record>() -> RefOr<Schema> {
    R::describe(closed_object()).into()
}

/// Returns the schema of a record with its name.
pub(crate) fn body<R: Record>() -> (String, RefOr<Schema>) {
    (R::NAME.to_owned(), body_schema::<R>())
}

/// Describes a record by:
///
/// - its name and its type in the domain;
/// - its key, if it has one: each part with its field names and its path parameter;
/// - its fields: each with its name, its format and its place in the domain's value, unless it is only read;
/// - an example, if it is a body by itself;
/// - an expression that builds the value;
/// - a check of all fields together, if there is one.
macro_rules! record {
    (
        $(#[doc = $about:literal])+
        $visibility:vis $record:ident of $value:ty {
            $(key {
                $($(#[doc = $key_about:literal])+
                $key:ident [$first:literal $(, $other:literal)*] in $parameter:literal:
                    $key_type:ty = $($key_path:tt).+;)+
            })?
            fields {
                $($(#[doc = $field_about:literal])*
                $field:ident [$name:literal]: $format:ty $(= $($path:tt).+)?;)*
            }
            $(example $example:tt)?
        }
        $make:expr
        $(, checked by $check:path)?
    ) => {
        $(#[doc = $about])+
        #[derive(Debug)]
        $visibility enum $record {}

        impl $crate::record::Record for $record {
            type Value = $value;
            type Key = ($($($key_type,)+)?);

            const NAME: &'static str = stringify!($record);
            const HAS_FIELDS: bool = {
                let names: &[&str] = &[$($name),*];
                !names.is_empty()
            };

            fn key_parts() -> Vec<$crate::record::KeyPart> {
                vec![$($($crate::record::KeyPart {
                    field: $first,
                    parameter: $parameter,
                    description: concat!($($key_about),*).trim_ascii(),
                    schema: <$key_type as $crate::format::Format>::schema(),
                }),+)?]
            }

            fn key(
                path: $crate::record::PathParts<'_>,
                errors: &mut $crate::node::FieldErrors,
            ) -> Option<Self::Key> {
                let _ = (path, &errors);
                $($(let $key = $crate::record::part(path, $parameter, errors);)+)?
                Some(($($($key?,)+)?))
            }

            fn read(
                keys: $crate::record::Keys<'_>,
                fields: &mut $crate::node::Fields<'_, '_>,
                errors: &mut $crate::node::FieldErrors,
            ) -> Option<Self::Value> {
                let _ = (keys, &fields, &errors);
                $($(let $key: Option<$key_type> =
                    keys.read($parameter, &[$first $(, $other)*], fields, errors);)+)?
                $(let $field = match fields.optional($name) {
                    Some(node) => <$format as $crate::format::Format>::read(node, errors),
                    None => <$format as $crate::format::Format>::absent()
                        .or_else(|| fields.missing($name, errors)),
                };)*
                $($(let $key = $key?;)+)?
                $(let $field = $field?;)*
                let value = $make;
                $($crate::record::checked(&$check(&value), fields, errors)?;)?
                Some(value)
            }

            fn write_key<M: serde::ser::SerializeMap>(value: &$value, map: &mut M) -> Result<(), M::Error> {
                let _ = (value, &map);
                $($(map.serialize_entry($first, &$crate::format::Written::<$key_type>(&value.$($key_path).+))?;)+)?
                Ok(())
            }

            fn write_fields<M: serde::ser::SerializeMap>(value: &$value, map: &mut M) -> Result<(), M::Error> {
                let _ = (value, &map);
                $($(if <$format as $crate::format::Format>::is_written(&value.$($path).+) {
                    map.serialize_entry($name, &$crate::format::Written::<$format>(&value.$($path).+))?;
                })?)*
                Ok(())
            }

            fn describe(object: utoipa::openapi::ObjectBuilder) -> utoipa::openapi::ObjectBuilder {
                let object = object.description(Some(concat!($($about),+).trim_ascii()));
                $(let object = object
                    .property($name, $crate::format::described(
                        <$format as $crate::format::Format>::schema(),
                        concat!($($field_about),*),
                    ));
                let object = match <$format as $crate::format::Format>::absent() {
                    Some(_) => object,
                    None => object.required($name),
                };)*
                object
            }

            fn example() -> serde_json::Value {
                [$(serde_json::json!($example))?].into_iter().next().unwrap_or_default()
            }
        }

        impl utoipa::PartialSchema for $record {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                $crate::record::body_schema::<Self>()
            }
        }

        impl utoipa::ToSchema for $record {}
    };
}

pub(crate) use record;
