//! The real clock and the real randomness. No other file takes either from the system.

use companion_domain::{
    model::Timestamp,
    port::{Clock, Entropy},
};
use rand::RngCore as _;
use std::{
    sync::LazyLock,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// The origin of monotonic time, shared by all clocks of the process.
static ORIGIN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// The system's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

/// The system's date is before 1970. HTTP cannot represent it, and the server would panic when it writes a `Date`
/// header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the clock of this machine is before 1970; set its date, then start again")]
pub struct ClockError;

impl SystemClock {
    /// Checks that the date can be written in a `Date` header.
    ///
    /// # Errors
    ///
    /// If the date is before 1970. Linux refuses to set such a date, so a running service does not meet it.
    #[expect(clippy::disallowed_methods, reason = "this is the only real clock")]
    pub fn check() -> Result<(), ClockError> {
        check(SystemTime::now())
    }
}

fn check(date: SystemTime) -> Result<(), ClockError> {
    date.duration_since(UNIX_EPOCH).map(drop).map_err(|_| ClockError)
}

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the only real clock")]
    fn now(&self) -> Timestamp {
        // A date before 1970 is a broken clock, and `check` refuses it at start.
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::EPOCH.after(since)
    }

    fn monotonic(&self) -> Duration {
        ORIGIN.elapsed()
    }
}

/// Randomness from a thread-local CSPRNG that is reseeded by the system. As unpredictable as the system's source,
/// without a system call per token.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    #[expect(clippy::disallowed_methods, reason = "this is the only real source of randomness")]
    fn fill(&self, bytes: &mut [u8]) {
        rand::thread_rng().fill_bytes(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use companion_testkit::conformance::Fresh;
    use std::{panic::catch_unwind, sync::Arc};

    #[test]
    fn refuses_dates_that_http_cannot_represent() {
        let second = Duration::from_secs(1);
        for (date, checked) in
            [(UNIX_EPOCH - second, Err(ClockError)), (UNIX_EPOCH, Ok(())), (UNIX_EPOCH + second, Ok(()))]
        {
            assert_eq!(check(date), checked);
            let written = catch_unwind(|| httpdate::fmt_http_date(date));
            assert_eq!(written.is_ok(), checked.is_ok());
        }
    }

    #[test]
    fn all_clocks_share_one_monotonic_time() {
        let (one, other) = (SystemClock, SystemClock);
        let first = one.monotonic();
        while other.monotonic() == first {}
        assert!(one.monotonic() > first);
    }

    companion_testkit::entropy_conformance! {
        Fresh::new(Arc::new(SystemEntropy))
    }
}
