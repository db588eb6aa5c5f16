//! The pause that the platform asked for: one row, or none.

use crate::{connection::AnyConnection, schema::platform_pause};
use companion_domain::{model::Timestamp, port::PlatformPause};
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl, QueryResult, RunQueryDsl};
use std::time::Duration;

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
