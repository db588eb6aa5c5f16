//! Whether the clock of this machine is right, by that of the platform.

use super::{
    check::{Check, Subject},
    provider::Provider,
    report::length,
};
use crate::system::SystemClock;
use companion_domain::port::Clock as _;
use std::time::Duration;

/// No key decides about it, but how long sessions live is counted by it.
const CLOCK: Subject = Subject::new("clock", "sessions.lifetime");
/// Answers say the time to the second, and take a moment.
const UNREMARKABLE: Duration = Duration::from_secs(30);

pub(super) fn check(provider: &Provider) -> Check {
    let Some(theirs) = provider.date else {
        return CLOCK.skipped("cannot be told before the provider answers");
    };
    let ours = SystemClock.now();
    let (ahead, behind) = (ours.since(theirs), theirs.since(ours));
    let off = ahead.max(behind);
    if off < UNREMARKABLE {
        return CLOCK.ok("it agrees with the platform's");
    }
    let side = if ahead > behind { "ahead of" } else { "behind" };
    let cause = format!("it is {} {side} the platform's", length(off));
    let remedy = "let the system keep its time, for instance with timedatectl set-ntp true";
    // Up to there nodes take each other's times for their own.
    if theirs.horizon().since(theirs) < off {
        CLOCK.failed(cause, remedy)
    } else {
        CLOCK.warning(cause, remedy)
    }
}
