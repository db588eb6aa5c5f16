//! The contract of [`PlatformPauses`].

use super::{Fresh, sample::at};
use companion_domain::port::{PlatformPause, PlatformPauses};
use std::time::Duration;

suite! {
    /// Generates one test per behaviour of `PlatformPauses`.
    platform_pauses_conformance($): platform_pauses, dyn PlatformPauses;
    a_pause_is_visible_to_all_handles,
    the_pause_with_more_time_left_wins,
    concurrent_callers_leave_the_longest_pause,
}

const SECOND: i64 = 1_000_000;

fn pause(second: i64, seconds: u64) -> PlatformPause {
    PlatformPause { said_at: at(second * SECOND), wait: Duration::from_secs(seconds) }
}

async fn a_pause_is_visible_to_all_handles(fresh: &Fresh<Port>) {
    assert_eq!(fresh.one.current().await.unwrap(), None);
    let odd = PlatformPause { said_at: at(1_234_567), wait: Duration::from_micros(1_500_001) };
    fresh.one.note(odd).await.unwrap();
    for handle in [&fresh.one, &fresh.other] {
        assert_eq!(handle.current().await.unwrap(), Some(odd));
    }
}

async fn the_pause_with_more_time_left_wins(fresh: &Fresh<Port>) {
    for (noted, wins, why) in [
        (pause(100, 60), true, "the first"),
        (pause(110, 49), false, "less time left"),
        (pause(110, 51), true, "more time left"),
        (pause(161, 1), true, "the earlier one has expired"),
        (pause(10_000, 3600), true, "longer"),
        (pause(10_000 - 300, 5), false, "the clock of another node is five minutes behind"),
        (pause(10_000 - 301, 5), true, "the clock was reset"),
    ] {
        let before = fresh.one.current().await.unwrap();
        fresh.other.note(noted).await.unwrap();
        let expected = if wins { Some(noted) } else { before };
        assert_eq!(fresh.one.current().await.unwrap(), expected, "{why}");
    }
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
