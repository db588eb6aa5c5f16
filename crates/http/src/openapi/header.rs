//! Headers of answers, described once and named wherever they occur.

use crate::headers::name;
use utoipa::openapi::{Header, HeaderBuilder, Object, ObjectBuilder, Ref, ResponseBuilder, Schema, Type};

pub(super) const REQUEST_ID: &str = "^[A-Za-z0-9._-]{1,64}$";
const ETAG: &str = "^\"[A-Za-z0-9_-]{43}\"$";

/// Every header that answers have beside the usual ones.
pub(super) fn all() -> [(&'static str, Header); 6] {
    [
        (name::X_REQUEST_ID, described("The name of the request.", text(REQUEST_ID))),
        ("Retry-After", described("Seconds to wait before trying again, where waiting helps.", integer(1))),
        ("Age", described("How old the platform's list behind the answer is, in seconds.", integer(0))),
        ("ETag", described("The tag of the answer, which changes whenever its body does.", text(ETAG))),
        ("WWW-Authenticate", described("How the key is sent.", text("^Bearer$"))),
        ("Allow", described("The methods that the path answers to.", text("^[A-Z]+(, [A-Z]+)*$"))),
    ]
}

/// Says that an answer has one of these headers.
pub(super) fn with(response: ResponseBuilder, name: &str) -> ResponseBuilder {
    response.header_ref(name, Ref::new(format!("#/components/headers/{name}")))
}

/// What every answer has: a request id, and a word for caches.
pub(super) fn usual(response: ResponseBuilder, cache_control: &str) -> ResponseBuilder {
    let cache = ObjectBuilder::new().schema_type(Type::String).enum_values(Some([cache_control])).build();
    with(response, name::X_REQUEST_ID)
        .header("Cache-Control", described("What caches may do with the answer.", cache))
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
