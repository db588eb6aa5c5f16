//! What one sync works with: a connection of its own with temporary tables, and the permit to have one.

use super::plan::{Compared, Plan};
use crate::{
    connection::AnyConnection,
    failure::Failure,
    purpose::Purpose,
    storage::DieselStorage,
    table::staging::{self, RecordBatch},
};
use companion_domain::{
    change::Kind,
    port::{Numbered, Replace, StoreError},
};
use diesel::QueryResult;
use std::{collections::BTreeSet, sync::Arc};
use tokio::{
    sync::OwnedSemaphorePermit,
    task::{JoinHandle, spawn_blocking},
};

/// A connection whose temporary tables live as long as it does. Whatever ends a sync early drops it, and nothing is left.
pub(super) struct Workspace {
    pub(super) db: AnyConnection,
    kinds: BTreeSet<Kind>,
    /// Declared after the connection, so given back after it.
    _permit: OwnedSemaphorePermit,
}

impl Workspace {
    fn stage(&mut self, records: Vec<Numbered>) -> QueryResult<()> {
        let batch: RecordBatch = records.into_iter().collect();
        self.make_tables(batch.kinds().clone())?;
        batch.stage(&mut self.db)
    }

    /// Says what is to be merged, once all records are staged.
    pub(super) fn plan(&mut self, replace: &Replace) -> Result<Plan, Failure> {
        let plan = Plan::new(&self.kinds, replace);
        self.make_tables(replace.kinds.clone())?;
        let tables = self.kinds.iter().flat_map(|kind| staging::staged_tables(*kind)).map(str::to_owned);
        staging::analyse(&mut self.db, &tables.collect::<Vec<_>>())?;
        Ok(plan)
    }

    /// Compares with what is stored at this moment, and gets what differs ready to be written. Nobody waits for it.
    pub(super) fn compare(&mut self, plan: &Plan) -> Result<Compared, Failure> {
        let compared = self.db.snapshot(|db| plan.compare(db))?;
        staging::analyse(&mut self.db, &plan.differing())?;
        if matches!(compared, Compared::Differing(_)) {
            plan.touch(&mut self.db)?;
        }
        Ok(compared)
    }

    fn make_tables(&mut self, mut kinds: BTreeSet<Kind>) -> QueryResult<()> {
        if kinds.contains(&Kind::Member) {
            // Whether a member's guild is known also depends on the guilds that were staged.
            kinds.insert(Kind::Guild);
        }
        for kind in kinds.difference(&self.kinds.clone()) {
            staging::create(*kind, &mut self.db)?;
            self.kinds.insert(*kind);
        }
        Ok(())
    }
}

/// A workspace that a blocking thread is at work with.
pub(super) struct InFlight(JoinHandle<Result<Workspace, StoreError>>);

impl InFlight {
    /// Begins to open a connection, once this sync may have one.
    pub(super) async fn open(storage: &DieselStorage) -> Result<Self, StoreError> {
        let (database, permit) = (Arc::clone(storage.database()), storage.sync_permit().await?);
        Ok(Self(spawn_blocking(move || {
            let db = database.connect(Purpose::Bulk).map_err(StoreError::unavailable)?;
            Ok(Workspace { db, kinds: BTreeSet::new(), _permit: permit })
        })))
    }

    /// Begins to stage these records, once those before are. While it is done, the next are read.
    pub(super) async fn take(self, records: Vec<Numbered>) -> Result<Self, StoreError> {
        let mut workspace = self.done().await?;
        Ok(Self(spawn_blocking(move || {
            workspace.stage(records).map_err(Failure::from)?;
            Ok(workspace)
        })))
    }

    /// The workspace, once everything is staged.
    pub(super) async fn done(self) -> Result<Workspace, StoreError> {
        self.0.await.unwrap_or_else(|stopped| Err(StoreError::unavailable(stopped)))
    }
}
