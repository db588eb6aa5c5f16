//! The pause that the platform asked for.

use crate::state::MemoryStorage;
use async_trait::async_trait;
use companion_domain::port::{PlatformPause, PlatformPauses, StoreError};

#[async_trait]
impl PlatformPauses for MemoryStorage {
    async fn note(&self, pause: PlatformPause) -> Result<(), StoreError> {
        self.write(|state, _| {
            let known = state.platform_pause.and_then(|known| known.left(pause.said_at));
            if known < Some(pause.wait) {
                state.platform_pause = Some(pause);
            }
        });
        Ok(())
    }

    async fn current(&self) -> Result<Option<PlatformPause>, StoreError> {
        Ok(self.read().platform_pause)
    }
}
