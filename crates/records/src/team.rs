//! The team.

use crate::{
    node::{FieldErrors, Node, Path},
    record::{Keys, Record as _, object, record},
};
use companion_domain::model::{Colour, FieldError, Name, Roster, TeamMember, User, UserId, WebUrl};
use serde_json::Value;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ArrayBuilder, Ref, RefOr, Schema},
};

record! {
    /// A place in the team.
    pub TeamMemberRecord of TeamMember {
        fields {
            /// The unique name.
            username ["username"]: Name = user.username;
            /// The display name.
            name ["name"]: Name = user.name;
            /// The URL of a picture.
            avatar ["avatar"]: WebUrl = user.avatar;
            /// The identity provider's id of the user.
            id ["discord_id"]: UserId = user.id;
            /// The title of the role.
            role ["role"]: Name = role;
            /// The colour of the role.
            color ["color"]: Colour = color;
            /// The category.
            category ["category"]: Name = category;
            /// The order within the category, ascending.
            position ["position"]: i32 = position;
        }
        example {
            "username": "night_owl", "name": "Night Owl", "avatar": "https://cdn.example/embed/avatars/1.png",
            "discord_id": "190000000000000004", "role": "Lead Developer", "color": "#1ABC9C",
            "category": "Development", "position": 1
        }
    }
    TeamMember { user: User { id, username, name, avatar }, role, color, category, position }
}

/// Length of the longest escape of a character: a surrogate pair, as of an emoji.
const ESCAPED: usize = "\\uD83E\\uDD89".len();
/// Maximum size of an entry in bytes: four names and a URL of maximum length, and room for the rest.
const MAX_MEMBER_BYTES: usize = 4 * ESCAPED * *Name::LENGTH.end() + 2 * WebUrl::MAX_LENGTH + 512;

/// The whole team: a list of its members.
#[derive(Debug)]
pub enum Team {}

impl Team {
    /// Size of the largest valid team, in bytes.
    pub const MAX_BYTES: usize = Roster::MAX * MAX_MEMBER_BYTES;

    /// Reads a team from a body, which may not be JSON. Returns all errors at once.
    pub fn read_body(body: &Result<Value, serde_json::Error>) -> Result<Roster, Vec<FieldError>> {
        let mut errors = FieldErrors::default();
        let read = errors.document(body).and_then(|node| Self::read(node, &mut errors));
        errors.unless_any(read)
    }

    fn read(node: Node<'_, '_>, errors: &mut FieldErrors) -> Option<Roster> {
        let members =
            node.list(errors, |node, errors| object::<TeamMemberRecord>(Keys::InRecord, node, errors))?;
        Roster::new(members)
            .map_err(|(place, invalid)| {
                errors.add(&Path::Item(&node.path, place), format!("must be {}", invalid.expected));
            })
            .ok()
    }

    /// Returns an example of a team.
    #[must_use]
    pub fn example() -> Value {
        Value::Array(vec![TeamMemberRecord::example()])
    }
}

impl PartialSchema for Team {
    fn schema() -> RefOr<Schema> {
        ArrayBuilder::new()
            .items(Ref::from_schema_name(TeamMemberRecord::NAME))
            .max_items(Some(Roster::MAX))
            .unique_items(true)
            .description(Some(
                "The whole team. A user is listed at most once per category: entries with the same `discord_id` and \
                 `category` are rejected with 422.",
            ))
            .into()
    }
}

impl ToSchema for Team {}
