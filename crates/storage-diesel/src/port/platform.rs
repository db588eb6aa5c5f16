//! Ports over state about the platform that all nodes share: used codes, and the requested pause.

use crate::{
    connection::{Access, AnyConnection},
    failure::WorkError,
    schema::{platform_pause, spent_codes},
    storage::DieselStorage,
};
use async_trait::async_trait;
use companion_domain::{
    model::{CodeFingerprint, Timestamp},
    port::{PlatformPause, PlatformPauses, SpentCodes, StoreError},
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

#[async_trait]
impl SpentCodes for DieselStorage {
    async fn spend(
        &self,
        code: &CodeFingerprint,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<bool, StoreError> {
        let code = *code;
        self.write(Access::Urgent, move |write| {
            // Each call removes expired marks, so they never accumulate.
            let over = spent_codes::spent_until
                .le(now.micros())
                .or(spent_codes::spent_until.gt(until.horizon().micros()));
            diesel::delete(spent_codes::table.filter(over)).execute(write.db)?;
            if MARKS_MADE.fetch_add(1, Relaxed).is_multiple_of(MARKS_PER_CHECK) {
                trim_marks(write.db, MAX_MARKS)?;
            }
            let mark = spent_codes::table.find(code.as_bytes().as_slice()).select(spent_codes::spent_until);
            if mark.get_result::<i64>(write.db).optional()?.is_some() {
                return Ok(false);
            }
            diesel::insert_into(spent_codes::table)
                .values((
                    spent_codes::fingerprint.eq(code.as_bytes().as_slice()),
                    spent_codes::spent_until.eq(until.micros()),
                ))
                .execute(write.db)?;
            Ok(true)
        })
        .await
    }

    async fn restore(&self, code: &CodeFingerprint) -> Result<(), StoreError> {
        let code = *code;
        self.write(Access::Urgent, move |write| {
            diesel::delete(spent_codes::table.find(code.as_bytes().as_slice())).execute(write.db)?;
            Ok(())
        })
        .await
    }
}

/// Drops the marks that expire first, down to `marks`.
fn trim_marks(db: &mut AnyConnection, marks: i64) -> Result<(), WorkError> {
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

const PAUSE_ROW_ID: i64 = 1;

#[async_trait]
impl PlatformPauses for DieselStorage {
    /// Stores a pause, unless the stored one lasts longer.
    async fn note(&self, pause: PlatformPause) -> Result<(), StoreError> {
        self.write(Access::Urgent, move |write| {
            let known = current(write.db)?.and_then(|known| known.left(pause.said_at));
            if known >= Some(pause.wait) {
                return Ok(());
            }
            diesel::delete(platform_pause::table.find(PAUSE_ROW_ID)).execute(write.db)?;
            diesel::insert_into(platform_pause::table)
                .values((
                    platform_pause::id.eq(PAUSE_ROW_ID),
                    platform_pause::said_at.eq(pause.said_at.micros()),
                    platform_pause::wait.eq(i64::try_from(pause.wait.as_micros()).unwrap_or(i64::MAX)),
                ))
                .execute(write.db)?;
            Ok(())
        })
        .await
    }

    async fn current(&self) -> Result<Option<PlatformPause>, StoreError> {
        self.read(|db, _| current(db)).await
    }
}

fn current(db: &mut AnyConnection) -> Result<Option<PlatformPause>, WorkError> {
    let columns = (platform_pause::said_at, platform_pause::wait);
    let row: Option<(i64, i64)> =
        platform_pause::table.find(PAUSE_ROW_ID).select(columns).get_result(db).optional()?;
    Ok(row.map(|(said_at, wait)| PlatformPause {
        said_at: Timestamp::from_micros(said_at),
        // An invalid wait counts as no pause.
        wait: Duration::from_micros(u64::try_from(wait).unwrap_or_default()),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::SqliteOptions;

    #[tokio::test]
    async fn drops_the_marks_that_expire_first_beyond_the_maximum() {
        let folder = tempfile::tempdir().unwrap();
        let storage =
            DieselStorage::open(SqliteOptions::new(folder.path().join("companion.db"))).await.unwrap();
        let code = |number: u8| CodeFingerprint::from_bytes([number; 32]);
        let spend = async |number: u8| {
            let until = Timestamp::from_micros(100 + i64::from(number));
            storage.spend(&code(number), Timestamp::EPOCH, until).await.unwrap()
        };
        for number in 0..20 {
            assert!(spend(number).await);
        }
        storage.write(Access::All, |write| trim_marks(write.db, 5)).await.unwrap();
        assert!(!spend(15).await);
        assert!(spend(14).await);
    }
}
