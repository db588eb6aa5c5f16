//! What others have changed since a sync compared.

use crate::{
    connection::AnyConnection,
    failure::Failure,
    table::{
        column::to_column,
        history::{self, ChangeNumber},
    },
};
use companion_domain::change::{Kind, Subject};
use std::collections::{BTreeMap, BTreeSet};

/// More rows than this are not compared one by one.
const FEW: usize = 200;

pub(super) enum Overtaken {
    /// These rows and no others, each by its keys as they are written in a statement.
    Slightly(BTreeMap<Kind, Vec<Vec<String>>>),
    /// Too much to say what.
    Largely,
}

/// What of these kinds has changed after that change.
pub(super) fn since(
    db: &mut AnyConnection,
    change: ChangeNumber,
    kinds: &BTreeSet<Kind>,
) -> Result<Overtaken, Failure> {
    let Some(subjects) = history::concerning(db, change, kinds)? else {
        return Ok(Overtaken::Largely);
    };
    let mut rows: BTreeMap<Kind, Vec<Vec<String>>> = BTreeMap::new();
    for (number, subject) in subjects.into_iter().enumerate() {
        match keys(&subject) {
            Some(keys) if number < FEW => rows.entry(subject.kind()).or_default().push(keys),
            _ => return Ok(Overtaken::Largely),
        }
    }
    Ok(Overtaken::Slightly(rows))
}

/// The keys of what a change was about; nothing where it names none. A team is small, so its every row counts.
fn keys(subject: &Subject) -> Option<Vec<String>> {
    match subject {
        Subject::Guild(guild) => Some(vec![to_column(*guild).to_string()]),
        Subject::Member(guild, user) => {
            Some(vec![to_column(*guild).to_string(), to_column(*user).to_string()])
        }
        Subject::Subscription(user) | Subject::Staff(user) | Subject::Blocked(user) => {
            Some(vec![to_column(*user).to_string()])
        }
        // An id has no character that would have to be escaped.
        Subject::Feedback(id) => Some(vec![format!("'{id}'")]),
        Subject::Many(Kind::Team) => Some(Vec::new()),
        Subject::Session(_) | Subject::Grant(_) | Subject::Cluster(_) | Subject::Many(_) => None,
    }
}
