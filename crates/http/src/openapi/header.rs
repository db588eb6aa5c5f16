//! Response headers, described once and referred to by name.

use crate::headers::name;
use utoipa::openapi::{
    Header, HeaderBuilder, Object, ObjectBuilder, Ref, RefOr, Response, ResponseBuilder, Schema, Type,
};

pub(super) const REQUEST_ID: &str = "^[A-Za-z0-9._-]{1,64}$";
const ETAG: &str = "^\"[A-Za-z0-9_-]{43}\"$";
const CACHE_CONTROL: &str = "Cache-Control";

/// Returns the headers that are components of the document.
pub(super) fn all() -> [(&'static str, Header); 6] {
    [
        (name::X_REQUEST_ID, described("The id of the request.", text(REQUEST_ID))),
        ("Retry-After", described("Seconds to wait before retrying.", integer(1))),
        ("Age", described("Age of the platform's list behind the response, in seconds.", integer(0))),
        ("ETag", described("Entity tag, which changes whenever the body does.", text(ETAG))),
        ("WWW-Authenticate", described("The authentication scheme.", text("^Bearer$"))),
        ("Allow", described("The methods that the path supports.", text("^[A-Z]+(, [A-Z]+)*$"))),
    ]
}

/// Adds the common headers to a response, and replaces known headers by references.
pub(super) fn complete(response: &mut Response) {
    for (name, header) in &mut response.headers {
        if all().iter().any(|(known, _)| known == name) {
            *header = reference(name);
        }
        if let (CACHE_CONTROL, RefOr::T(header)) = (name.as_str(), header) {
            header.description = Some(CACHING.to_owned());
        }
    }
    response.headers.entry(name::X_REQUEST_ID.to_owned()).or_insert_with(|| reference(name::X_REQUEST_ID));
    let unkept = || described(CACHING, caching("no-store")).into();
    response.headers.entry(CACHE_CONTROL.to_owned()).or_insert_with(unkept);
}

/// Adds a reference to a header.
pub(super) fn with(response: ResponseBuilder, name: &str) -> ResponseBuilder {
    response.header_ref(name, Ref::new(format!("#/components/headers/{name}")))
}

const CACHING: &str = "Caching policy of the response.";

pub(super) fn caching(value: &str) -> Object {
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some([value])).build()
}

fn reference(name: &str) -> RefOr<Header> {
    RefOr::Ref(Ref::new(format!("#/components/headers/{name}")))
}

fn described(description: &str, schema: Object) -> Header {
    HeaderBuilder::new().schema(Some(Schema::Object(schema))).description(Some(description)).build()
}

pub(super) fn text(pattern: &str) -> Object {
    ObjectBuilder::new().schema_type(Type::String).pattern(Some(pattern)).build()
}

fn integer(minimum: u8) -> Object {
    ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(minimum)).build()
}
