//! What all nodes have to know about the platform: used codes, and the pause it asked for. And a write that proves a disk.

use crate::{
    connection::AnyConnection,
    schema::{changes, platform_pause, spent_codes},
};
use companion_domain::{
    model::{CodeFingerprint, Timestamp},
    port::PlatformPause,
};
use diesel::{
    BoolExpressionMethods, ExpressionMethods, OptionalExtension, QueryDsl, QueryResult, RunQueryDsl,
};
use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

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

const ROW: i64 = 1;

pub(crate) fn current(db: &mut AnyConnection) -> QueryResult<Option<PlatformPause>> {
    let columns = (platform_pause::said_at, platform_pause::wait);
    let row: Option<(i64, i64)> =
        platform_pause::table.find(ROW).select(columns).get_result(db).optional()?;
    Ok(row.map(|(said_at, wait)| PlatformPause {
        said_at: Timestamp::from_micros(said_at),
        // What makes no sense is no pause.
        wait: Duration::from_micros(u64::try_from(wait).unwrap_or_default()),
    }))
}

/// Remembers a pause, unless more is left of the one before.
pub(crate) fn note(db: &mut AnyConnection, pause: PlatformPause) -> QueryResult<()> {
    let known = current(db)?.and_then(|known| known.left(pause.said_at));
    if known >= Some(pause.wait) {
        return Ok(());
    }
    diesel::delete(platform_pause::table.find(ROW)).execute(db)?;
    diesel::insert_into(platform_pause::table)
        .values((
            platform_pause::id.eq(ROW),
            platform_pause::said_at.eq(pause.said_at.micros()),
            platform_pause::wait.eq(i64::try_from(pause.wait.as_micros()).unwrap_or(i64::MAX)),
        ))
        .execute(db)?;
    Ok(())
}

/// How much room there must be for a write to count as one that works, in bytes.
const ROOM: usize = 64 * 1024;
/// No change has this revision, and nobody asks for it.
const NO_REVISION: i64 = -1;

/// Writes something as large as that, and takes it away again. Nobody ever sees it, but it goes to the disk.
pub(crate) fn write_probe(db: &mut AnyConnection) -> QueryResult<()> {
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

/// Letters in no order, so that no database stores fewer.
fn incompressible() -> String {
    let mut state = 1_u64;
    let letters = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'A' + u8::try_from(state >> 60).unwrap_or_default())
    });
    letters.take(ROOM).collect()
}
