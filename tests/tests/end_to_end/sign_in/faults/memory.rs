//! How much memory this process holds, as the kernel counts it. Other systems than Linux do not tell.

use std::fs;

/// A measurement that has begun.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measurement {
    before: Option<u64>,
}

impl Measurement {
    /// Forgets earlier peaks, so that the next one is what happens from now on.
    pub(super) fn begin() -> Self {
        let forgotten = fs::write("/proc/self/clear_refs", "5");
        Self { before: forgotten.ok().and_then(|()| status("VmRSS:")) }
    }

    /// By how many KiB the process grew at its largest.
    pub(super) fn growth(&self) -> Option<u64> {
        Some(status("VmHWM:")?.saturating_sub(self.before?))
    }
}

fn status(field: &str) -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn memory_that_was_held_for_a_moment_is_seen() {
    let _turn = crate::sign_in::alone().await;
    let measurement = Measurement::begin();
    drop(std::hint::black_box(vec![1_u8; 64 << 20]));
    let growth = measurement.growth().unwrap();
    assert!(growth >= 63 << 10, "{growth} KiB");
    assert!(Measurement::begin().growth().unwrap() < 8 << 10);
}
