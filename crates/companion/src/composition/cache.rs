//! How much is kept in memory, and how long the use of sessions waits to be written.

use crate::configuration::Configuration;
use companion_cache::CacheSettings;
use companion_domain::session::SessionLimits;
use std::time::Duration;

/// However far apart uses are recorded, they are written as often as this.
const MAX_WRITE_INTERVAL: Duration = Duration::from_secs(30);
/// No clock is worth looking at more often.
const MIN_WRITE_INTERVAL: Duration = Duration::from_millis(10);

/// How often the use of sessions is written.
pub(crate) fn write_interval(limits: SessionLimits) -> Duration {
    limits.grain().clamp(MIN_WRITE_INTERVAL, MAX_WRITE_INTERVAL)
}

/// Half of the memory is for copies: rendered, a listing takes several times as much, and needs no more than that.
pub(super) fn settings(configuration: &Configuration, limits: SessionLimits) -> CacheSettings {
    CacheSettings {
        memory: half(configuration),
        // A use that is not recorded yet, and one that is recorded but not written.
        use_lag: limits.grain() + write_interval(limits),
    }
}

/// The other half is for rendered listings.
pub(super) fn rendered_listings(configuration: &Configuration) -> u64 {
    half(configuration)
}

/// Of what may be taken, an eighth is left for what nobody counts: how the allocator rounds, and what is free in between.
fn half(configuration: &Configuration) -> u64 {
    configuration.cache.memory.bytes() as u64 / 16 * 7
}
