//! Places in the team.

use super::{
    column::{from_column, to_column},
    history::Write,
    row::{Columns as _, Row, TeamRow, read},
    unreadable::Unreadable,
};
use crate::{
    connection::AnyConnection,
    failure::{RowError, WorkError},
};
use companion_domain::{
    change::{Kind, Subject, Tally},
    model::{Roster, TeamMember, User},
};
use std::collections::BTreeSet;

impl Row for TeamRow {
    type Value = TeamMember;

    fn of(member: &TeamMember) -> Self {
        Self {
            user_id: to_column(member.user.id),
            category: member.category.to_string(),
            username: member.user.username.to_string(),
            name: member.user.name.to_string(),
            avatar: member.user.avatar.to_string(),
            role: member.role.to_string(),
            color: member.color.to_string(),
            position: member.position.into(),
        }
    }

    fn read(&self, _: &Unreadable) -> Result<TeamMember, RowError> {
        Ok(TeamMember {
            user: User {
                id: read!(self.user_id, from_column),
                username: read!(self.username, |name| name.parse()),
                name: read!(self.name, |name| name.parse()),
                avatar: read!(self.avatar, |url| url.parse()),
            },
            role: read!(self.role, |role| role.parse()),
            color: read!(self.color, |color| color.parse()),
            category: read!(self.category, |category| category.parse()),
            position: read!(self.position, |position| i32::try_from(*position)),
        })
    }
}

/// Returns the whole team, which is small, ordered by unsigned user id.
pub(crate) fn all(db: &mut AnyConnection, unreadable: &Unreadable) -> Result<Vec<TeamMember>, WorkError> {
    let mut rows = TeamRow::select(db, "", Vec::new())?;
    rows.sort_by(|one, other| {
        let key = |row: &TeamRow| row.user_id.cast_unsigned();
        (key(one), &one.category).cmp(&(key(other), &other.category))
    });
    Ok(unreadable.all(&rows))
}

/// Replaces the team. Unchanged rows are not written.
pub(crate) fn replace(write: &mut Write<'_>, roster: &Roster) -> Result<Tally, WorkError> {
    let rows: Vec<_> = roster.as_slice().iter().map(TeamRow::of).collect();
    let kept: BTreeSet<_> = rows.iter().map(TeamRow::key).collect();
    let mut tally = Tally::NOTHING;
    for before in TeamRow::select(write.db, "", Vec::new())? {
        let key = before.key();
        if !kept.contains(&key) {
            tally += TeamRow::TABLE.delete(write.db, key)?;
        }
    }
    for row in rows {
        tally += row.put(write.db)?;
    }
    Ok(write.noted(tally, || Subject::Many(Kind::Team)))
}
