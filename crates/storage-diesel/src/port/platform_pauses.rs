//! The pause that the platform asked for.

use crate::{storage::DieselStorage, table::platform_pause};
use async_trait::async_trait;
use companion_domain::port::{PlatformPause, PlatformPauses, StoreError};

#[async_trait]
impl PlatformPauses for DieselStorage {
    async fn note(&self, pause: PlatformPause) -> Result<(), StoreError> {
        self.write_urgently(move |write| Ok(platform_pause::note(write.db, pause)?)).await
    }

    async fn current(&self) -> Result<Option<PlatformPause>, StoreError> {
        self.read(|db| Ok(platform_pause::current(db)?)).await
    }
}
