//! The port over grants: what the platform lets this service do on behalf of users.

use crate::{
    connection::{Access, AnyConnection},
    failure::WorkError,
    schema::{grants, sessions},
    storage::DieselStorage,
    table::{
        column::Field as _,
        grants::profile,
        history::{self, Write},
        records,
        row::{GrantRow, Row as _},
        unreadable::Unreadable,
    },
};
use async_trait::async_trait;
use companion_domain::{
    change::{Key, Subject},
    model::{Profile, Timestamp, UserId},
    port::{ClaimAfter, Claimed, Grant, GrantContent, GrantStore, GrantVersion, StoreError},
};
use diesel::{
    BoolExpressionMethods, ExpressionMethods, OptionalExtension, QueryDsl, RunQueryDsl,
    dsl::{auto_type, exists, not},
};
use std::{
    collections::{BTreeSet, HashMap},
    num::NonZeroU32,
};

#[async_trait]
impl GrantStore for DieselStorage {
    async fn find(&self, user: UserId) -> Result<Option<Grant>, StoreError> {
        self.read(move |db, unreadable| find(db, user, unreadable)).await
    }

    async fn profiles(&self, users: &BTreeSet<UserId>) -> Result<HashMap<UserId, Profile>, StoreError> {
        let users: Vec<_> = users.iter().map(UserId::column).collect();
        if users.is_empty() {
            return Ok(HashMap::new());
        }
        self.read(move |db, _| {
            let columns = (grants::user_id, grants::name, grants::avatar);
            let rows = grants::table.filter(grants::user_id.eq_any(users)).select(columns).load(db)?;
            let read = |(user, name, avatar): (i64, Option<String>, Option<String>)| {
                Some((UserId::of_column(&user)?, profile(name.as_deref(), avatar.as_deref())?))
            };
            Ok(rows.into_iter().filter_map(read).collect())
        })
        .await
    }

    async fn claim_refresh(
        &self,
        user: UserId,
        version: GrantVersion,
        until: Timestamp,
        dead: Option<Timestamp>,
    ) -> Result<Claimed, StoreError> {
        let grant = at_version(user.column(), version.column());
        self.write(Access::Urgent, move |write| {
            // In SQL, a comparison with NULL is never true.
            let free = grants::claim_until.is_null().or(grants::claim_until.eq(dead.column()));
            let claim = grants::claim_until.eq(until.column());
            if diesel::update(grant.filter(free)).set(claim).execute(write.db)? == 1 {
                return Ok(Claimed::Granted);
            }
            let held = grant.select(grants::claim_until).get_result::<Option<i64>>(write.db).optional()?;
            Ok(held.flatten().map_or(Claimed::Gone, |end| Claimed::Held(Timestamp::from_micros(end))))
        })
        .await
    }

    async fn release_claim(&self, user: UserId, version: GrantVersion) -> Result<(), StoreError> {
        let grant = at_version(user.column(), version.column());
        self.write(Access::Urgent, move |write| {
            diesel::update(grant).set(grants::claim_until.eq(None::<i64>)).execute(write.db)?;
            Ok(())
        })
        .await
    }

    async fn update(
        &self,
        user: UserId,
        version: GrantVersion,
        content: &GrantContent,
        claim: ClaimAfter,
    ) -> Result<GrantVersion, StoreError> {
        let content = content.clone();
        self.write(Access::Urgent, move |write| {
            if self::version(write.db, user)? != Some(version) {
                return Err(WorkError::Conflict("the grant was replaced or removed"));
            }
            put(write, user, &content, claim)
        })
        .await
    }

    async fn remove_unused(&self, user: UserId, version: GrantVersion) -> Result<bool, StoreError> {
        self.write(Access::Urgent, move |write| {
            let same = self::version(write.db, user)? == Some(version);
            let session = sessions::table.filter(sessions::user_id.eq(user.column()));
            let unused = same && !diesel::select(exists(session)).get_result::<bool>(write.db)?;
            if unused {
                records::remove(write, &Key::Grant(user))?;
            }
            Ok(unused)
        })
        .await
    }

    async fn holders(&self, after: Option<UserId>, limit: NonZeroU32) -> Result<Vec<UserId>, StoreError> {
        self.read(move |db, _| holders(db, after, limit, false)).await
    }

    async fn unused(&self, after: Option<UserId>, limit: NonZeroU32) -> Result<Vec<UserId>, StoreError> {
        self.read(move |db, _| holders(db, after, limit, true)).await
    }
}

/// Selects a grant while it has this version.
#[auto_type]
fn at_version(user: i64, version: i64) -> _ {
    grants::table.find(user).filter(grants::version.eq(version))
}

pub(super) fn find(
    db: &mut AnyConnection,
    user: UserId,
    unreadable: &Unreadable,
) -> Result<Option<Grant>, WorkError> {
    Ok(GrantRow::require(db, &Key::Grant(user), unreadable)?.map(|(_, grant)| grant))
}

/// Returns the version of a grant, readable or not.
pub(super) fn version(db: &mut AnyConnection, user: UserId) -> Result<Option<GrantVersion>, WorkError> {
    let version = grants::table.find(user.column()).select(grants::version).get_result(db).optional()?;
    Ok(version.map(|version: i64| GrantVersion(version.cast_unsigned())))
}

/// Writes a grant, with a version derived from the revision of the change. Revisions only grow, so a grant that is
/// removed and created again never repeats a version that a slow refresh still holds.
pub(super) fn put(
    write: &mut Write<'_>,
    user: UserId,
    content: &GrantContent,
    claim: ClaimAfter,
) -> Result<GrantVersion, WorkError> {
    let revision = write.record(&Subject::Grant(user))?;
    let version = revision.0.cast_signed().saturating_add(history::grant_offset(write.db)?);
    let row = GrantRow::new(user, version, content);
    let update = diesel::update(grants::table.find(row.user_id));
    let written = match claim {
        ClaimAfter::Kept => update.set(&row).execute(write.db)?,
        ClaimAfter::Released => update.set((&row, grants::claim_until.eq(None::<i64>))).execute(write.db)?,
    };
    if written == 0 {
        diesel::insert_into(grants::table).values(&row).execute(write.db)?;
    }
    Ok(GrantVersion(row.version.cast_unsigned()))
}

/// Returns the next users with a grant, or with a grant and no session. They are in the order of the signed column, which
/// differs from that of the ids.
fn holders(
    db: &mut AnyConnection,
    after: Option<UserId>,
    limit: NonZeroU32,
    only_unused: bool,
) -> Result<Vec<UserId>, WorkError> {
    // No user has the id 0, and such a row must not shorten the page.
    let users = grants::table.select(grants::user_id).filter(grants::user_id.ne(0));
    let mut users = users.order(grants::user_id).limit(limit.get().into()).into_boxed();
    if let Some(after) = after {
        users = users.filter(grants::user_id.gt(after.column()));
    }
    if only_unused {
        let session = sessions::table.filter(sessions::user_id.eq(grants::user_id));
        users = users.filter(not(exists(session)));
    }
    let columns: Vec<i64> = users.load(db)?;
    Ok(columns.iter().filter_map(UserId::of_column).collect())
}
