//! The team.

use crate::{
    node::{Mistakes, Node, Path},
    record::{Keys, Record as _, object, record},
};
use companion_domain::model::{Colour, Mistake, Name, Roster, TeamMember, User, UserId, WebUrl};
use serde_json::Value;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ArrayBuilder, Ref, RefOr, Schema},
};

record! {
    /// A place in the team.
    pub TeamMemberRecord of TeamMember {
        key {}
        fields {
            /// The unique name.
            username ["username"]: Name = user.username;
            /// The name that others see.
            name ["name"]: Name = user.name;
            /// The address of a picture.
            avatar ["avatar"]: WebUrl = user.avatar;
            /// The identity provider's id of the user.
            id ["discord_id"]: UserId = user.id;
            /// The title of the role.
            role ["role"]: Name = role;
            /// The colour of the role.
            color ["color"]: Colour = color;
            /// The part of the team.
            category ["category"]: Name = category;
            /// The place in the category; lower comes first.
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

/// The longest way to write a character of a name: an escaped pair, as of an emoji.
const ESCAPED: usize = "\\uD83E\\uDD89".len();
/// The four names and the address of an entry at their longest, and enough for all the rest.
const LARGEST_MEMBER: usize = 4 * ESCAPED * *Name::LENGTH.end() + 2 * WebUrl::MAX_LENGTH + 512;

/// The whole team: a bare list of its members.
#[derive(Debug)]
pub enum Team {}

impl Team {
    /// The largest team that is valid, in bytes, as programs write it.
    pub const LARGEST: usize = Roster::MAX * LARGEST_MEMBER;

    /// Reads a team from a body, which may be no JSON at all. All mistakes are told at once.
    pub fn read_body(body: &Result<Value, serde_json::Error>) -> Result<Roster, Vec<Mistake>> {
        let mut mistakes = Mistakes::default();
        let read = mistakes.document(body).and_then(|node| Self::read(node, &mut mistakes));
        mistakes.unless_any(read)
    }

    fn read(node: Node<'_, '_>, mistakes: &mut Mistakes) -> Option<Roster> {
        let members =
            node.list(mistakes, |node, mistakes| object::<TeamMemberRecord>(Keys::InRecord, node, mistakes))?;
        Roster::new(members)
            .map_err(|(place, invalid)| {
                mistakes.add(&Path::Item(&node.path, place), format!("must be {}", invalid.expected));
            })
            .ok()
    }

    /// A team as someone could send it.
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
                "The whole team. Nobody stands twice in one category: entries with the same `discord_id` and `category` \
                 are refused with 422.",
            ))
            .into()
    }
}

impl ToSchema for Team {}
