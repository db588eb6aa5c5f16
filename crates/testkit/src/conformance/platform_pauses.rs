//! The contract of [`PlatformPauses`].

use super::{Fresh, sample::at};
use companion_domain::port::{PlatformPause, PlatformPauses};
use std::time::Duration;

suite! {
    /// Generates one test per behaviour of `PlatformPauses`.
    platform_pauses_conformance($): platform_pauses, dyn PlatformPauses;
    a_new_store_has_no_pause,
    a_pause_is_visible_to_all_handles,
    the_pause_with_more_time_left_wins,
    an_expired_pause_is_replaced_by_any_other,
    a_pause_from_before_a_clock_reset_is_replaced,
    concurrent_callers_leave_the_longest_pause,
}

const SECOND: i64 = 1_000_000;

fn pause(second: i64, seconds: u64) -> PlatformPause {
    PlatformPause { said_at: at(second * SECOND), wait: Duration::from_secs(seconds) }
}

async fn a_new_store_has_no_pause(fresh: &Fresh<Port>) {
    assert_eq!(fresh.one.current().await.unwrap(), None);
}

async fn a_pause_is_visible_to_all_handles(fresh: &Fresh<Port>) {
    let odd = PlatformPause { said_at: at(1_234_567), wait: Duration::from_micros(1_500_001) };
    fresh.one.note(odd).await.unwrap();
    for handle in [&fresh.one, &fresh.other] {
        assert_eq!(handle.current().await.unwrap(), Some(odd));
    }
}

async fn the_pause_with_more_time_left_wins(fresh: &Fresh<Port>) {
    fresh.one.note(pause(100, 60)).await.unwrap();
    fresh.other.note(pause(110, 49)).await.unwrap();
    assert_eq!(fresh.one.current().await.unwrap(), Some(pause(100, 60)));
    fresh.other.note(pause(110, 51)).await.unwrap();
    assert_eq!(fresh.one.current().await.unwrap(), Some(pause(110, 51)));
}

async fn an_expired_pause_is_replaced_by_any_other(fresh: &Fresh<Port>) {
    fresh.one.note(pause(100, 60)).await.unwrap();
    fresh.one.note(pause(160, 1)).await.unwrap();
    assert_eq!(fresh.one.current().await.unwrap(), Some(pause(160, 1)));
}

async fn a_pause_from_before_a_clock_reset_is_replaced(fresh: &Fresh<Port>) {
    fresh.one.note(pause(10_000, 3600)).await.unwrap();
    // Another node's clock may be up to five minutes behind.
    fresh.one.note(pause(10_000 - 300, 5)).await.unwrap();
    assert_eq!(fresh.one.current().await.unwrap(), Some(pause(10_000, 3600)));
    fresh.one.note(pause(10_000 - 301, 5)).await.unwrap();
    assert_eq!(fresh.one.current().await.unwrap(), Some(pause(10_000 - 301, 5)));
}

async fn concurrent_callers_leave_the_longest_pause(fresh: &Fresh<Port>) {
    let noted = fresh
        .concurrently(|number, pauses| async move {
            let noted = pause(100, 10 + number);
            pauses.note(noted).await.unwrap();
            noted
        })
        .await;
    let longest = noted.into_iter().max_by_key(|pause| pause.wait);
    assert_eq!(fresh.one.current().await.unwrap(), longest);
}
