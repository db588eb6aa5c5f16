//! Codes that have been used.

use crate::{connection::AnyConnection, schema::spent_codes, storage::DieselStorage};
use async_trait::async_trait;
use companion_domain::{
    model::{CodeFingerprint, Timestamp},
    port::{SpentCodes, StoreError},
};
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
fn bound(db: &mut AnyConnection, marks: i64) -> QueryResult<()> {
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

#[async_trait]
impl SpentCodes for DieselStorage {
    async fn spend(
        &self,
        code: &CodeFingerprint,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<bool, StoreError> {
        let code = code.as_bytes().to_vec();
        self.write_urgently(move |write| {
            // Marks that no longer count go by the way, so they never pile up.
            let over = spent_codes::spent_until
                .le(now.micros())
                .or(spent_codes::spent_until.gt(until.horizon().micros()));
            diesel::delete(spent_codes::table.filter(over)).execute(write.db)?;
            if MADE.fetch_add(1, Relaxed).is_multiple_of(INTERVAL) {
                bound(write.db, MARKS)?;
            }
            let marked: Option<i64> =
                spent_codes::table.find(&code).select(spent_codes::spent_until).first(write.db).optional()?;
            if marked.is_none() {
                diesel::insert_into(spent_codes::table)
                    .values((spent_codes::fingerprint.eq(code), spent_codes::spent_until.eq(until.micros())))
                    .execute(write.db)?;
            }
            Ok(marked.is_none())
        })
        .await
    }

    async fn restore(&self, code: &CodeFingerprint) -> Result<(), StoreError> {
        let code = code.as_bytes().to_vec();
        self.write_urgently(move |write| {
            diesel::delete(spent_codes::table.find(code)).execute(write.db)?;
            Ok(())
        })
        .await
    }
}

#[cfg(all(test, feature = "sqlite"))]
mod tests {
    use super::*;
    use crate::sqlite::SqliteOptions;

    #[tokio::test]
    async fn a_flood_of_codes_pushes_out_the_marks_that_end_first() {
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
        storage.write(|write| Ok(bound(write.db, 5)?)).await.unwrap();
        assert!(!spend(15).await);
        assert!(spend(14).await);
    }
}
