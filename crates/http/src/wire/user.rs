//! People.

use super::Snowflake;
use companion_domain::model;
use serde::Serialize;
use utoipa::ToSchema;

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
