//! The team.

use super::node::{Fields, Node, Notes, Path};
use companion_domain::model::{Invalid, Name, Roster, TeamMember, User, WebUrl};

/// The longest way to write a character of a name: an escaped pair, as of an emoji.
const ESCAPED: usize = "\\uD83E\\uDD89".len();
/// The four names and the address of an entry at their longest, and enough for all the rest.
const LARGEST_MEMBER: usize = 4 * ESCAPED * *Name::LENGTH.end() + 2 * WebUrl::MAX_LENGTH + 512;

/// The largest roster that is valid, in bytes, as programs write it.
pub(crate) const LARGEST_ROSTER: usize = Roster::MAX * LARGEST_MEMBER;

/// Reads a whole roster: a bare list of members.
pub(crate) fn roster(node: Node<'_, '_>, notes: &mut Notes) -> Option<Roster> {
    let members = node.list(notes, |node, notes| {
        let mut fields = node.fields(notes)?;
        let member = team_member(&mut fields, notes);
        fields.finish(notes);
        member
    })?;
    Roster::new(members)
        .map_err(|(place, invalid)| {
            notes.add(&Path::Item(&node.path, place), format!("must be {}", invalid.expected));
        })
        .ok()
}

/// Reads one member of the team.
pub(crate) fn team_member(fields: &mut Fields<'_, '_>, notes: &mut Notes) -> Option<TeamMember> {
    let username = fields.required("username", notes).and_then(|node| node.text(notes));
    let name = fields.required("name", notes).and_then(|node| node.text(notes));
    let avatar = fields.required("avatar", notes).and_then(|node| node.text(notes));
    let id = fields.required("discord_id", notes).and_then(|node| node.text(notes));
    let role = fields.required("role", notes).and_then(|node| node.text(notes));
    let color = fields.required("color", notes).and_then(|node| node.text(notes));
    let category = fields.required("category", notes).and_then(|node| node.text(notes));
    let position = fields.required("position", notes).and_then(|node| node.integer(position, notes));
    Some(TeamMember {
        user: User { id: id?, username: username?, name: name?, avatar: avatar? },
        role: role?,
        color: color?,
        category: category?,
        position: position?,
    })
}

fn position(number: i64) -> Result<i32, Invalid> {
    i32::try_from(number)
        .map_err(|_| Invalid::new("position", "a whole number from -2147483648 to 2147483647"))
}
