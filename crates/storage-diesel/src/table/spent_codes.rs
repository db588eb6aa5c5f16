//! Marks of codes that have been used.

use crate::{connection::AnyConnection, schema::spent_codes};
use companion_domain::model::{CodeFingerprint, Timestamp};
use diesel::{
    BoolExpressionMethods, ExpressionMethods, OptionalExtension, QueryDsl, QueryResult, RunQueryDsl,
};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How many marks are kept, give or take those of one interval. Past that the ones that would run out first go early;
/// the platform refuses a used code anyway, and codes live a fraction of the time that marks do.
const MARKS: i64 = 262_144;
/// How many marks are made between two looks at their number.
const INTERVAL: u64 = 4096;

static MADE: AtomicU64 = AtomicU64::new(0);

/// Drops the marks that run out first, but for so many.
pub(crate) fn bound(db: &mut AnyConnection, marks: i64) -> QueryResult<()> {
    let excess: Option<i64> = spent_codes::table
        .select(spent_codes::spent_until)
        .order(spent_codes::spent_until.desc())
        .offset(marks)
        .limit(1)
        .first(db)
        .optional()?;
    if let Some(end) = excess {
        diesel::delete(spent_codes::table.filter(spent_codes::spent_until.le(end))).execute(db)?;
    }
    Ok(())
}

/// Marks a code. False where it was marked before.
pub(crate) fn spend(
    db: &mut AnyConnection,
    code: &CodeFingerprint,
    now: Timestamp,
    until: Timestamp,
) -> QueryResult<bool> {
    // Marks that no longer count go by the way, so they never pile up.
    let over =
        spent_codes::spent_until.le(now.micros()).or(spent_codes::spent_until.gt(until.horizon().micros()));
    diesel::delete(spent_codes::table.filter(over)).execute(db)?;
    if MADE.fetch_add(1, Relaxed).is_multiple_of(INTERVAL) {
        bound(db, MARKS)?;
    }
    let code = code.as_bytes().as_slice();
    let marked: Option<i64> =
        spent_codes::table.find(code).select(spent_codes::spent_until).get_result(db).optional()?;
    if marked.is_none() {
        diesel::insert_into(spent_codes::table)
            .values((spent_codes::fingerprint.eq(code), spent_codes::spent_until.eq(until.micros())))
            .execute(db)?;
    }
    Ok(marked.is_none())
}

pub(crate) fn restore(db: &mut AnyConnection, code: &CodeFingerprint) -> QueryResult<()> {
    diesel::delete(spent_codes::table.find(code.as_bytes().as_slice())).execute(db)?;
    Ok(())
}
