//! Sessions and their users.

use super::Snowflake;
use companion_domain::{model, usecase::SignedIn};
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

/// A user of the chat platform.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct User<'a> {
    /// The unique name.
    #[schema(min_length = 1, max_length = 256, examples("night_owl"))]
    username: &'a str,
    /// The name that others see.
    #[schema(min_length = 1, max_length = 256, examples("Night Owl"))]
    name: &'a str,
    /// The identity provider's id of the user.
    id: Snowflake,
    /// The address of a picture.
    #[schema(
        pattern = "^[Hh][Tt][Tt][Pp][Ss]?://[!-~]+$",
        max_length = 2048,
        examples("https://cdn.example/embed/avatars/1.png")
    )]
    avatar: &'a str,
}

impl<'a> From<&'a model::User> for User<'a> {
    fn from(user: &'a model::User) -> Self {
        Self {
            username: user.username.as_str(),
            name: user.name.as_str(),
            id: user.id.into(),
            avatar: user.avatar.as_str(),
        }
    }
}
