//! Ports over the change feed, listings and health.

use crate::{
    connection::{Access, AnyConnection},
    failure::WorkError,
    migration::is_complete,
    schema::changes,
    storage::DieselStorage,
    table::{
        guilds, history,
        row::{BlockedRow, Columns as _, Row as _, StaffRow, SubscriptionRow},
        subscriptions,
        unreadable::Unreadable,
    },
};
use async_trait::async_trait;
use companion_domain::{
    change::{Changes, Key, Revision},
    model::UserId,
    port::{ChangeFeed, GrantSummary, Health, Listing, ListingScope, Listings, Memo, StoreError},
};
use diesel::{ExpressionMethods, QueryDsl, RunQueryDsl};
use std::sync::Arc;

#[async_trait]
impl ChangeFeed for DieselStorage {
    async fn latest(&self) -> Result<Revision, StoreError> {
        self.read(|db, _| history::latest(db)).await
    }

    async fn since(&self, revision: Revision) -> Result<Changes, StoreError> {
        self.snapshot(move |db, unreadable| history::since(db, revision, unreadable)).await
    }

    async fn wait_for_change(&self, revision: Revision) {
        // Writes of another process to the same file wake no waiter here; readers find them by polling.
        self.writer().status().latest.newer_than(revision).await;
    }
}

#[async_trait]
impl Listings for DieselStorage {
    async fn read(&self, user: UserId, asked: ListingScope) -> Result<Arc<Listing>, StoreError> {
        self.snapshot(move |db, unreadable| read(db, user, asked, unreadable)).await
    }
}

pub(super) fn read(
    db: &mut AnyConnection,
    user: UserId,
    asked: ListingScope,
    unreadable: &Unreadable,
) -> Result<Arc<Listing>, WorkError> {
    let blocked = BlockedRow::stored(db, &Key::Blocked(user))?.is_some();
    let grant = match super::grants::find(db, user, unreadable) {
        Err(WorkError::Row(_)) if blocked => None,
        found => found?.map(GrantSummary::from),
    };
    let asked = asked.guilds(grant.as_ref());
    Ok(Arc::new(Listing {
        blocked,
        guilds: guilds::with_roles(db, user, &asked, unreadable)?,
        guild_subscriptions: subscriptions::guild_subscriptions(db, &asked, unreadable)?,
        subscription: SubscriptionRow::find(db, &Key::Subscription(user), unreadable)?.map(Arc::new),
        staff: StaffRow::find(db, &Key::Staff(user), unreadable)?
            .map(|(_, grants)| grants)
            .unwrap_or_default(),
        grant,
        memo: Memo::default(),
    }))
}

#[async_trait]
impl Health for DieselStorage {
    async fn check(&self) -> Result<(), StoreError> {
        let database = Arc::clone(self.database());
        let (file, complete) = self.read(move |db, _| Ok((database.check_file(), is_complete(db)?))).await?;
        file.map_err(StoreError::unavailable)?;
        if !complete {
            return Err(StoreError::unavailable("the schema does not match this version"));
        }
        let failure = self.database().damage().or_else(|| self.writer().status().last_failure());
        match failure {
            None => Ok(()),
            // The cause may be gone by now.
            Some(reason) => self
                .write(Access::Urgent, |write| write_probe(write.db))
                .await
                .map_err(|_| StoreError::unavailable(format!("the last write failed: {reason}"))),
        }
    }
}

/// Size of the probe, in bytes: the free space that a working database must have.
const PROBE_BYTES: usize = 64 * 1024;
/// No change has this revision, and no query asks for it.
const NO_REVISION: i64 = -1;

/// Writes a row of that size and deletes it again. Other transactions never see it, but it reaches the disk.
fn write_probe(db: &mut AnyConnection) -> Result<(), WorkError> {
    diesel::insert_into(changes::table)
        .values((
            changes::revision.eq(NO_REVISION),
            changes::kind.eq("none"),
            changes::subject.eq(incompressible()),
        ))
        .execute(db)?;
    diesel::delete(changes::table.find(NO_REVISION)).execute(db)?;
    Ok(())
}

/// Returns pseudo-random letters, so that no database can compress them.
fn incompressible() -> String {
    let mut state = 1_u64;
    let letters = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'A' + u8::try_from(state >> 60).unwrap_or_default())
    });
    letters.take(PROBE_BYTES).collect()
}
