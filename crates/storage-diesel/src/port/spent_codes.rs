//! Codes that have been used.

use crate::{storage::DieselStorage, table::spent_codes};
use async_trait::async_trait;
use companion_domain::{
    model::{CodeFingerprint, Timestamp},
    port::{SpentCodes, StoreError},
};

#[async_trait]
impl SpentCodes for DieselStorage {
    async fn spend(
        &self,
        code: &CodeFingerprint,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<bool, StoreError> {
        let code = *code;
        self.write_urgently(move |write| Ok(spent_codes::spend(write.db, &code, now, until)?)).await
    }

    async fn restore(&self, code: &CodeFingerprint) -> Result<(), StoreError> {
        let code = *code;
        self.write_urgently(move |write| Ok(spent_codes::restore(write.db, &code)?)).await
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
        storage.write(|write| Ok(spent_codes::bound(write.db, 5)?)).await.unwrap();
        assert!(!spend(15).await);
        assert!(spend(14).await);
    }
}
