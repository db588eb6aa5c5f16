//! Days of fake time: thousands of users on two nodes over one store, a platform whose tokens expire and rotate, that
//! goes down and limits us, and nodes that die. A model knows what everyone must be shown and who must be signed in.
//!
//! The usual run is small. `SIMULATION=full` is thousands of users over days; `USERS`, `DAYS` and `SEED` change either.

mod agenda;
mod chance;
mod judge;
mod nodes;
mod person;
mod report;
mod run;
mod trouble;
mod visit;

use self::run::Run;
use crate::amount;
use std::time::Duration;

/// How old a list may get before it is fetched again.
const REFRESH_AFTER: Duration = Duration::from_secs(60);
/// How old a list may get when the platform gives no other. Shorter than usual, so that it matters here.
const STALE_FOR: Duration = HOUR.saturating_mul(12);
/// How long a session lives unused, and how long at most. Shorter than usual, too.
const IDLE: Duration = HOUR.saturating_mul(30);
const LIFETIME: Duration = HOUR.saturating_mul(40);
/// How long the platform's access tokens work.
const ACCESS_LIFETIME: Duration = HOUR.saturating_mul(4);
/// After this long nothing is left of the platform's troubles: every limit that it named is over, and so is every
/// pause and every claim of ours.
const SLACK: Duration = Duration::from_secs(120);
const HOUR: Duration = Duration::from_secs(3600);

/// How much is simulated.
#[derive(Debug, Clone, Copy)]
struct Size {
    users: usize,
    days: usize,
    seed: usize,
}

impl Size {
    fn from_environment() -> Self {
        let full = std::env::var("SIMULATION").is_ok_and(|size| size == "full");
        let (users, days) = if full { (2000, 2) } else { (20, 2) };
        Self { users: amount("USERS", users), days: amount("DAYS", days), seed: amount("SEED", 1) }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn over_days_lists_stay_fresh_and_nobody_is_signed_out_wrongly() {
    let findings = Run::new(Size::from_environment()).await.play().await;
    println!("{findings}");
    findings.verdict();
}
