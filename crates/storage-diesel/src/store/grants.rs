//! What the platform granted us to do in users' names.

use super::sessions::has_any;
use crate::{
    connection::AnyConnection,
    failure::Failure,
    row::{
        grant::{GrantRow, version_from_column, version_to_column},
        snowflake::{from_column, to_column},
        unreadable::Unreadable,
    },
    schema::{grants, history, sessions},
    storage::DieselStorage,
    writer::Write,
};
use async_trait::async_trait;
use companion_domain::{
    change::{Subject, Tally},
    model::{Timestamp, UserId},
    port::{ClaimAfter, Claimed, Grant, GrantContent, GrantStore, GrantVersion, StoreError},
};
use diesel::{
    BoolExpressionMethods, ExpressionMethods, OptionalExtension, QueryDsl, QueryResult, RunQueryDsl,
    SelectableHelper,
    dsl::{self, not},
};
use std::num::NonZeroU32;

fn find(db: &mut AnyConnection, user: UserId, unreadable: &Unreadable) -> Result<Option<Grant>, Failure> {
    let row: QueryResult<GrantRow> =
        grants::table.find(to_column(user)).select(GrantRow::as_select()).first(db);
    let grant = row.optional()?.map(|row| row.read(unreadable)).transpose()?;
    Ok(grant.map(|(_, grant)| grant))
}

pub(super) fn has_version(db: &mut AnyConnection, user: UserId, version: GrantVersion) -> QueryResult<bool> {
    let kept: Option<i64> =
        grants::table.find(to_column(user)).select(grants::version).first(db).optional()?;
    Ok(kept == Some(version_to_column(version)))
}

/// Whether the user has a grant.
pub(super) fn exists(db: &mut AnyConnection, user: UserId) -> QueryResult<bool> {
    let version: Option<i64> =
        grants::table.find(to_column(user)).select(grants::version).first(db).optional()?;
    Ok(version.is_some())
}

/// Records the change, and makes a version out of its revision. Revisions only grow, so a grant that is removed and
/// made anew never repeats a version that a slow refresh still has in hand.
fn next_version(write: &mut Write<'_>, user: UserId) -> Result<i64, Failure> {
    let revision = write.record(&Subject::Grant(user))?;
    let offset: i64 = history::table.select(history::grant_offset).first(write.db)?;
    Ok(revision.0.cast_signed().saturating_add(offset))
}

pub(super) fn replace(
    write: &mut Write<'_>,
    user: UserId,
    content: &GrantContent,
) -> Result<GrantVersion, Failure> {
    let row = GrantRow::new(user, next_version(write, user)?, content);
    let released = grants::claim_until.eq(None::<i64>);
    let written = diesel::update(grants::table.find(row.user_id)).set((&row, released)).execute(write.db)?;
    if written == 0 {
        diesel::insert_into(grants::table).values(&row).execute(write.db)?;
    }
    Ok(version_from_column(row.version))
}

fn claim(
    write: &mut Write<'_>,
    user: UserId,
    version: GrantVersion,
    until: Timestamp,
    dead: Option<Timestamp>,
) -> QueryResult<Claimed> {
    // A comparison with nothing is never true.
    let free = grants::claim_until.is_null().or(grants::claim_until.eq(dead.map(Timestamp::micros)));
    let claimed = diesel::update(grants::table)
        .filter(grants::user_id.eq(to_column(user)))
        .filter(grants::version.eq(version_to_column(version)))
        .filter(free)
        .set(grants::claim_until.eq(until.micros()))
        .execute(write.db)?;
    if claimed == 1 {
        return Ok(Claimed::Granted);
    }
    let held: Option<Option<i64>> = grants::table
        .find(to_column(user))
        .filter(grants::version.eq(version_to_column(version)))
        .select(grants::claim_until)
        .first(write.db)
        .optional()?;
    Ok(held.flatten().map_or(Claimed::Gone, |end| Claimed::Held(Timestamp::from_micros(end))))
}

fn update(
    write: &mut Write<'_>,
    user: UserId,
    version: GrantVersion,
    content: &GrantContent,
    claim: ClaimAfter,
) -> Result<GrantVersion, Failure> {
    if !has_version(write.db, user, version)? {
        return Err(Failure::Conflict("the grant was replaced or removed"));
    }
    let row = GrantRow::new(user, next_version(write, user)?, content);
    let place = grants::table.find(row.user_id);
    match claim {
        ClaimAfter::Kept => diesel::update(place).set(&row).execute(write.db)?,
        ClaimAfter::Released => {
            let released = grants::claim_until.eq(None::<i64>);
            diesel::update(place).set((&row, released)).execute(write.db)?
        }
    };
    Ok(version_from_column(row.version))
}

/// Removes a user's grant.
pub(super) fn remove(write: &mut Write<'_>, user: UserId) -> Result<Tally, Failure> {
    let gone = diesel::delete(grants::table.find(to_column(user))).execute(write.db)?;
    Ok(write.noted(super::removed(gone), || Subject::Grant(user)))
}

#[async_trait]
impl GrantStore for DieselStorage {
    async fn replace(&self, user: UserId, content: &GrantContent) -> Result<GrantVersion, StoreError> {
        let content = content.clone();
        self.write_urgently(move |write| replace(write, user, &content)).await
    }

    async fn find(&self, user: UserId) -> Result<Option<Grant>, StoreError> {
        let unreadable = self.unreadable();
        self.read(move |db| find(db, user, &unreadable)).await
    }

    async fn claim_refresh(
        &self,
        user: UserId,
        version: GrantVersion,
        until: Timestamp,
        dead: Option<Timestamp>,
    ) -> Result<Claimed, StoreError> {
        self.write_urgently(move |write| Ok(claim(write, user, version, until, dead)?)).await
    }

    async fn release_claim(&self, user: UserId, version: GrantVersion) -> Result<(), StoreError> {
        self.write_urgently(move |write| {
            diesel::update(grants::table)
                .filter(grants::user_id.eq(to_column(user)))
                .filter(grants::version.eq(version_to_column(version)))
                .set(grants::claim_until.eq(None::<i64>))
                .execute(write.db)?;
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
        self.write_urgently(move |write| update(write, user, version, &content, claim)).await
    }

    async fn remove(&self, user: UserId, version: GrantVersion) -> Result<bool, StoreError> {
        self.write_urgently(move |write| {
            let same = has_version(write.db, user, version)?;
            if same {
                remove(write, user)?;
            }
            Ok(same)
        })
        .await
    }

    async fn remove_unused(&self, user: UserId, version: GrantVersion) -> Result<bool, StoreError> {
        self.write_urgently(move |write| {
            let unused = has_version(write.db, user, version)? && !has_any(write.db, user)?;
            if unused {
                remove(write, user)?;
            }
            Ok(unused)
        })
        .await
    }

    async fn holders(&self, after: Option<UserId>, limit: NonZeroU32) -> Result<Vec<UserId>, StoreError> {
        let Some(from) = behind(after) else {
            return Ok(Vec::new());
        };
        self.read(move |db| users_of(page(from, limit).load(db)?)).await
    }

    async fn unused(&self, after: Option<UserId>, limit: NonZeroU32) -> Result<Vec<UserId>, StoreError> {
        let Some(from) = behind(after) else {
            return Ok(Vec::new());
        };
        let session = sessions::table.filter(sessions::user_id.eq(grants::user_id));
        self.read(move |db| users_of(page(from, limit).filter(not(dsl::exists(session))).load(db)?)).await
    }
}

/// The first column behind that of a user, or nothing behind the last possible one.
fn behind(after: Option<UserId>) -> Option<i64> {
    after.map_or(Some(i64::MIN), |user| to_column(user).checked_add(1))
}

/// The next users by their column, whatever order that is of their numbers.
#[diesel::dsl::auto_type(no_type_alias)]
fn page(from: i64, limit: NonZeroU32) -> _ {
    let limit: i64 = limit.get() as i64;
    // No user has the number 0, and a page must not come out shorter for it.
    let users = grants::table.select(grants::user_id).filter(grants::user_id.ne(0_i64));
    users.filter(grants::user_id.ge(from)).order(grants::user_id).limit(limit)
}

fn users_of(columns: Vec<i64>) -> Result<Vec<UserId>, Failure> {
    columns.into_iter().map(|column| Ok(from_column(column, "grants", "user_id")?)).collect()
}
