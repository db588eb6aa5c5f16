//! A place in the team as the file spells it: the fields of the public API.

use companion_domain::model::{Invalid, TeamMember, User};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    discord_id: String,
    username: String,
    name: String,
    avatar: String,
    role: String,
    color: String,
    category: String,
    position: i32,
}

impl TryFrom<Entry> for TeamMember {
    type Error = Invalid;

    fn try_from(entry: Entry) -> Result<Self, Invalid> {
        Ok(Self {
            user: User {
                id: entry.discord_id.parse()?,
                username: entry.username.parse()?,
                name: entry.name.parse()?,
                avatar: entry.avatar.parse()?,
            },
            role: entry.role.parse()?,
            color: entry.color.parse()?,
            category: entry.category.parse()?,
            position: entry.position,
        })
    }
}
