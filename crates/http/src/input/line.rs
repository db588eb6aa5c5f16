//! One line of a sync, an import or an export: a JSON object with a `kind`.

use super::{
    archive,
    node::{Node, Notes},
    record::{self, Key},
    team,
};
use companion_domain::{model::Mistake, port::Record};
use serde_json::Value;

/// Which kinds of lines are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accepted {
    /// What the bot feeds.
    World,
    /// That, and sessions and grants, as only an export of this service has them.
    Archive,
}

/// Reads one line.
pub(crate) fn line(bytes: &[u8], accepted: Accepted) -> Result<Record, Vec<Mistake>> {
    let value: Value = serde_json::from_slice(bytes)
        .map_err(|error| vec![Mistake { path: String::new(), message: format!("is not JSON: {error}") }])?;
    let mut notes = Notes::default();
    let read = read(Node::root(&value), accepted, &mut notes);
    notes.unless_any(read)
}

fn read(node: Node<'_, '_>, accepted: Accepted, notes: &mut Notes) -> Option<Record> {
    let mut fields = node.fields(notes)?;
    let kind = fields.required("kind", notes)?;
    let record = match (kind.value.as_str(), accepted) {
        (Some("guild"), _) => record::guild(Key::InRecord, &mut fields, notes).map(Record::Guild),
        (Some("member"), _) => {
            record::member(Key::InRecord, Key::InRecord, &mut fields, notes).map(Record::Member)
        }
        (Some("plus"), _) => {
            record::subscription(Key::InRecord, &mut fields, notes).map(Record::Subscription)
        }
        (Some("staff"), _) => {
            record::staff(Key::InRecord, &mut fields, notes).map(|(user, grants)| Record::Staff(user, grants))
        }
        (Some("blocked"), _) => record::blocked(Key::InRecord, &mut fields, notes).map(Record::Blocked),
        (Some("feedback"), _) => record::feedback(Key::InRecord, &mut fields, notes).map(Record::Feedback),
        (Some("team"), _) => team::team_member(&mut fields, notes).map(Record::TeamMember),
        (Some("session"), Accepted::Archive) => archive::session(&mut fields, notes).map(Record::Session),
        (Some("grant"), Accepted::Archive) => {
            archive::grant(&mut fields, notes).map(|(user, grant)| Record::Grant(user, grant))
        }
        _ => return kind.refuse(notes, expected(accepted)),
    };
    fields.finish(notes);
    record
}

const fn expected(accepted: Accepted) -> &'static str {
    match accepted {
        Accepted::World => "must be guild, member, plus, staff, blocked, feedback or team",
        Accepted::Archive => "must be guild, member, plus, staff, blocked, feedback, team, session or grant",
    }
}
