//! The team.

use super::Snowflake;
use companion_domain::model;
use serde::Serialize;
use utoipa::ToSchema;

/// A place in the team.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TeamMember<'a> {
    /// The unique name.
    #[schema(min_length = 1, max_length = 256, examples("night_owl"))]
    username: &'a str,
    /// The name that others see.
    #[schema(min_length = 1, max_length = 256, examples("Night Owl"))]
    name: &'a str,
    /// The address of a picture.
    #[schema(
        pattern = "^[Hh][Tt][Tt][Pp][Ss]?://[!-~]+$",
        max_length = 2048,
        examples("https://cdn.example/embed/avatars/1.png")
    )]
    avatar: &'a str,
    /// The identity provider's id of the user.
    discord_id: Snowflake,
    /// The title of the role.
    #[schema(min_length = 1, max_length = 256, examples("Lead Developer"))]
    role: &'a str,
    /// The colour of the role.
    #[schema(pattern = "^#[0-9A-Fa-f]{6}$", examples("#1ABC9C"))]
    color: &'a str,
    /// The part of the team.
    #[schema(min_length = 1, max_length = 256, examples("Development"))]
    category: &'a str,
    /// The place in the category; lower comes first.
    #[schema(examples(1))]
    position: i32,
}

bounded_list! {
    /// The whole team.
    ShownTeam of TeamMember, model::Roster::MAX
}

impl<'a> From<&'a model::TeamMember> for TeamMember<'a> {
    fn from(member: &'a model::TeamMember) -> Self {
        Self {
            username: member.user.username.as_str(),
            name: member.user.name.as_str(),
            avatar: member.user.avatar.as_str(),
            discord_id: member.user.id.into(),
            role: member.role.as_str(),
            color: member.color.as_str(),
            category: member.category.as_str(),
            position: member.position,
        }
    }
}
