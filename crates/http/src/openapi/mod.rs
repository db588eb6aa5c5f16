//! Parts of the OpenAPI document that all operations share. What belongs to one operation is described at its handler.

pub mod failure;
mod header;

use crate::{
    envelope::{FieldProblem, SUCCESS},
    headers::name,
};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        Components, ObjectBuilder, OpenApi, Ref, RefOr, Required, Schema, Type,
        path::{Operation, Parameter, ParameterBuilder, ParameterIn, PathItem},
        schema::{AdditionalProperties, SchemaType},
        security::{ApiKey, ApiKeyValue, SecurityScheme},
    },
};

const REQUEST_ID: &str = "RequestId";

/// Adds what all operations share: the request id, headers, error responses, and the envelope of every success except
/// those of the path `bare`.
pub fn complete(document: &mut OpenApi, bare: &str) {
    for (path, item) in &mut document.paths.paths {
        for operation in operations_of(item) {
            if path != bare {
                envelop(operation);
            }
            // Doc comments have line breaks; descriptions do not.
            operation.description = operation.description.take().map(|text| text.replace('\n', " "));
            operation.parameters.iter_mut().flatten().for_each(never_null);
            let request_id = Ref::new(format!("#/components/parameters/{REQUEST_ID}"));
            operation.parameters.get_or_insert_default().push(RefOr::Ref(request_id));
            failure::add_common(&mut operation.responses);
            for response in operation.responses.responses.values_mut() {
                if let RefOr::T(response) = response {
                    header::complete(response);
                }
            }
        }
    }
    let components = document.components.get_or_insert_with(Components::default);
    components.schemas.insert(FieldProblem::name().into(), FieldProblem::schema());
    components.parameters.insert(REQUEST_ID.to_owned(), request_id().into());
    components.headers.extend(header::all().map(|(name, header)| (name.to_owned(), header.into())));
    components.responses.extend(failure::components().map(|(name, it)| (name, it.into())));
    let token = header_key(name::TOKEN, "The session token that `POST /auth` returned.");
    components.security_schemes.insert("Token".to_owned(), token.into());
    let code = header_key(name::IDP_CODE, "The identity provider's authorisation code.");
    components.security_schemes.insert("IdpCode".to_owned(), code.into());
}

/// Wraps the data of a success in the envelope.
fn envelop(operation: &mut Operation) {
    let success = operation.responses.responses.get_mut(&SUCCESS.to_string());
    let Some(RefOr::T(response)) = success else { return };
    let Some(RefOr::T(content)) = response.content.get_mut(JSON) else { return };
    content.schema = content.schema.take().map(|data| envelope(SUCCESS, data));
}

/// Returns the operations of a path.
pub fn operations_of(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    let PathItem { get, put, post, delete, patch, .. } = item;
    [get, put, post, delete, patch].into_iter().flatten()
}

/// Makes optional parameters non-nullable: they may be omitted, but not null.
fn never_null(parameter: &mut RefOr<Parameter>) {
    let RefOr::T(Parameter { schema: Some(RefOr::T(schema)), .. }) = parameter else { return };
    let schema_type = match schema {
        Schema::Object(object) => &mut object.schema_type,
        Schema::Array(array) => &mut array.schema_type,
        _ => return,
    };
    if let SchemaType::Array(types) = schema_type {
        types.retain(|one| *one != Type::Null);
        if let [one] = types.as_slice() {
            *schema_type = SchemaType::Type(one.clone());
        }
    }
}

fn request_id() -> Parameter {
    let text = ObjectBuilder::new().schema_type(Type::String).examples(["dashboard-42"]);
    ParameterBuilder::new()
        .name(name::X_REQUEST_ID)
        .parameter_in(ParameterIn::Header)
        .required(Required::False)
        .description(Some(
            "An id for the request: 1 to 64 characters out of A-Z, a-z, 0-9, `.`, `_` and `-`. An invalid one is replaced.",
        ))
        .schema(Some(Schema::Object(text.build())))
        .build()
}

fn header_key(header: &str, description: &str) -> SecurityScheme {
    SecurityScheme::ApiKey(ApiKey::Header(ApiKeyValue::with_description(header, description)))
}

/// Defines values of `Cache-Control` other than `no-store`.
macro_rules! cache_controls {
    ($($(#[doc = $about:literal])+ $name:ident = $value:literal;)+) => {
        $(
            $(#[doc = $about])+
            #[derive(Debug)]
            pub enum $name {}

            impl $name {
                /// The value of the header.
                pub const VALUE: &'static str = $value;
            }

            impl PartialSchema for $name {
                fn schema() -> RefOr<Schema> {
                    header::caching($value).into()
                }
            }

            impl ToSchema for $name {}
        )+
    };
}

cache_controls! {
    /// Cached, and revalidated each time.
    NoCache = "no-cache";
    /// Cached for a minute.
    ForAMinute = "max-age=60";
    /// Private to one user, and not cached.
    Private = "private, no-store";
}

/// The media type of every body but one.
const JSON: &str = "application/json";

/// Returns the schema of an envelope with this code and data.
fn envelope(code: u16, data: RefOr<Schema>) -> RefOr<Schema> {
    let number = ObjectBuilder::new().schema_type(Type::Integer).enum_values(Some([code]));
    let sentence =
        ObjectBuilder::new().schema_type(Type::String).description(Some("The result, for people."));
    closed_object()
        .property("code", number)
        .required("code")
        .property("message", sentence)
        .required("message")
        .property("data", data)
        .required("data")
        .into()
}

/// Returns an object schema that allows no other properties.
pub(crate) fn closed_object() -> ObjectBuilder {
    ObjectBuilder::new().additional_properties(Some(AdditionalProperties::FreeForm(false)))
}
