//! State about the platform that all nodes share: used codes, and the requested pause. Also a write that probes the
//! disk.

use crate::{
    connection::AnyConnection,
    failure::WorkError,
    schema::{changes, platform_pause, spent_codes},
};
use companion_domain::{
    model::{CodeFingerprint, Timestamp},
    port::PlatformPause,
};
use diesel::{BoolExpressionMethods, ExpressionMethods, OptionalExtension, QueryDsl, RunQueryDsl};
use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

/// Approximate maximum number of marks; it may be exceeded by one interval. Beyond it, the marks that expire first are
/// dropped early. The platform rejects a used code anyway, and codes live much shorter than marks.
const MAX_MARKS: i64 = 262_144;
/// Number of marks between two checks of the maximum.
const MARKS_PER_CHECK: u64 = 4096;

static MARKS_MADE: AtomicU64 = AtomicU64::new(0);

/// Drops the marks that expire first, down to `marks`.
pub(crate) fn trim_marks(db: &mut AnyConnection, marks: i64) -> Result<(), WorkError> {
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

/// Marks a code as used. Returns `false` if it was already marked.
pub(crate) fn spend(
    db: &mut AnyConnection,
    code: &CodeFingerprint,
    now: Timestamp,
    until: Timestamp,
) -> Result<bool, WorkError> {
    // Each call removes expired marks, so they never accumulate.
    let over =
        spent_codes::spent_until.le(now.micros()).or(spent_codes::spent_until.gt(until.horizon().micros()));
    diesel::delete(spent_codes::table.filter(over)).execute(db)?;
    if MARKS_MADE.fetch_add(1, Relaxed).is_multiple_of(MARKS_PER_CHECK) {
        trim_marks(db, MAX_MARKS)?;
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

pub(crate) fn restore(db: &mut AnyConnection, code: &CodeFingerprint) -> Result<(), WorkError> {
    diesel::delete(spent_codes::table.find(code.as_bytes().as_slice())).execute(db)?;
    Ok(())
}

const PAUSE_ROW_ID: i64 = 1;

pub(crate) fn current(db: &mut AnyConnection) -> Result<Option<PlatformPause>, WorkError> {
    let columns = (platform_pause::said_at, platform_pause::wait);
    let row: Option<(i64, i64)> =
        platform_pause::table.find(PAUSE_ROW_ID).select(columns).get_result(db).optional()?;
    Ok(row.map(|(said_at, wait)| PlatformPause {
        said_at: Timestamp::from_micros(said_at),
        // An invalid wait counts as no pause.
        wait: Duration::from_micros(u64::try_from(wait).unwrap_or_default()),
    }))
}

/// Stores a pause, unless the stored one lasts longer.
pub(crate) fn note(db: &mut AnyConnection, pause: PlatformPause) -> Result<(), WorkError> {
    let known = current(db)?.and_then(|known| known.left(pause.said_at));
    if known >= Some(pause.wait) {
        return Ok(());
    }
    diesel::delete(platform_pause::table.find(PAUSE_ROW_ID)).execute(db)?;
    diesel::insert_into(platform_pause::table)
        .values((
            platform_pause::id.eq(PAUSE_ROW_ID),
            platform_pause::said_at.eq(pause.said_at.micros()),
            platform_pause::wait.eq(i64::try_from(pause.wait.as_micros()).unwrap_or(i64::MAX)),
        ))
        .execute(db)?;
    Ok(())
}

/// Size of the probe, in bytes: the free space that a working database must have.
const PROBE_BYTES: usize = 64 * 1024;
/// No change has this revision, and no query asks for it.
const NO_REVISION: i64 = -1;

/// Writes a row of that size and deletes it again. Other transactions never see it, but it reaches the disk.
pub(crate) fn write_probe(db: &mut AnyConnection) -> Result<(), WorkError> {
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
