//! The team.

use crate::{failure::Failure, row::team::TeamRow, schema::team, storage::DieselStorage, writer::Write};
use async_trait::async_trait;
use companion_domain::{
    change::{Subject, Tally},
    model::{Roster, TeamMember},
    port::{StoreError, TeamRoster},
};
use diesel::{QueryDsl, RunQueryDsl, SelectableHelper};
use std::{collections::HashMap, sync::Arc};

/// A team is small, so it is compared as a whole; what stays the same is not written again.
fn replace(write: &mut Write<'_>, rows: Vec<TeamRow>) -> Result<Tally, Failure> {
    let before: Vec<TeamRow> = team::table.select(TeamRow::as_select()).load(write.db)?;
    let mut before: HashMap<_, _> =
        before.into_iter().map(|row| ((row.user_id, row.category.clone()), row)).collect();
    let mut tally = Tally::NOTHING;
    for row in rows {
        let place = team::table.find((row.user_id, row.category.clone()));
        match before.remove(&(row.user_id, row.category.clone())) {
            Some(kept) if kept == row => continue,
            Some(_) => {
                diesel::delete(place).execute(write.db)?;
                tally += Tally::CHANGED;
            }
            None => tally += Tally::ADDED,
        }
        diesel::insert_into(team::table).values(row).execute(write.db)?;
    }
    for (place, _) in before {
        diesel::delete(team::table.find(place)).execute(write.db)?;
        tally += Tally::REMOVED;
    }
    Ok(write.noted(tally, || Subject::Team))
}

#[async_trait]
impl TeamRoster for DieselStorage {
    async fn all(&self) -> Result<Arc<[TeamMember]>, StoreError> {
        let unreadable = self.unreadable();
        self.read(move |db| {
            let rows: Vec<TeamRow> =
                team::table.order((team::user_id, team::category)).select(TeamRow::as_select()).load(db)?;
            Ok(unreadable.all(rows).into())
        })
        .await
    }

    async fn replace(&self, roster: &Roster) -> Result<Tally, StoreError> {
        let rows = roster.as_slice().iter().map(TeamRow::from).collect();
        self.write(move |write| replace(write, rows)).await
    }
}
