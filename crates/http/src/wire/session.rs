//! Sessions.

use super::User;
use companion_domain::usecase::SignedIn;
use serde::Serialize;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ObjectBuilder, RefOr, Schema, schema::Type},
};

/// A new session.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Session)]
pub(crate) struct NewSession<'a> {
    /// The session token, shown this once. Send it in the header `Token`.
    token: SessionToken<'a>,
    user: User<'a>,
}

impl<'a> From<&'a SignedIn> for NewSession<'a> {
    fn from(signed_in: &'a SignedIn) -> Self {
        Self { token: SessionToken(signed_in.token.expose()), user: (&signed_in.user).into() }
    }
}

/// A session token.
#[derive(Serialize)]
pub struct SessionToken<'a>(&'a str);

impl PartialSchema for SessionToken<'_> {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some("A session token."))
            .pattern(Some("^cmp_[A-Za-z0-9_-]{64}$"))
            .examples(["cmp_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4v"])
            .into()
    }
}

impl ToSchema for SessionToken<'_> {}

/// Nothing: the code says it all.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}
