//! Codes that have been used.

use crate::state::MemoryStorage;
use async_trait::async_trait;
use companion_domain::{
    model::{CodeFingerprint, Timestamp},
    port::{SpentCodes, StoreError},
};

#[async_trait]
impl SpentCodes for MemoryStorage {
    async fn spend(
        &self,
        code: &CodeFingerprint,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<bool, StoreError> {
        Ok(self.write(|state, _| state.spent_codes.spend(*code, now, until)))
    }

    async fn restore(&self, code: &CodeFingerprint) -> Result<(), StoreError> {
        self.write(|state, _| state.spent_codes.restore(*code));
        Ok(())
    }
}
