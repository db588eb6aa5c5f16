//! The contract of [`PlatformPauses`].

use super::{Fresh, sample::at};
use companion_domain::port::{PlatformPause, PlatformPauses};
use std::time::Duration;

suite! {
    /// Generates one test per behaviour of `PlatformPauses`.
    platform_pauses_conformance($): platform_pauses, dyn PlatformPauses;
    nothing_is_remembered_before_anything_was_said,
    what_was_said_to_one_is_known_to_all,
    of_two_pauses_the_one_stays_of_which_more_is_left,
    a_pause_that_is_over_gives_way_to_any_other,
    a_pause_from_before_the_clock_was_set_back_gives_way,
    of_callers_at_once_the_longest_pause_stays,
}

const SECOND: i64 = 1_000_000;

fn pause(second: i64, seconds: u64) -> PlatformPause {
    PlatformPause { said_at: at(second * SECOND), wait: Duration::from_secs(seconds) }
}

async fn nothing_is_remembered_before_anything_was_said(fresh: &Fresh<Port>) {
    assert_eq!(fresh.one.current().await.unwrap(), None);
}

async fn what_was_said_to_one_is_known_to_all(fresh: &Fresh<Port>) {
    let odd = PlatformPause { said_at: at(1_234_567), wait: Duration::from_micros(1_500_001) };
    fresh.one.note(odd).await.unwrap();
    for handle in [&fresh.one, &fresh.other] {
        assert_eq!(handle.current().await.unwrap(), Some(odd));
    }
}

async fn of_two_pauses_the_one_stays_of_which_more_is_left(fresh: &Fresh<Port>) {
    fresh.one.note(pause(100, 60)).await.unwrap();
    fresh.other.note(pause(110, 49)).await.unwrap();
    assert_eq!(fresh.one.current().await.unwrap(), Some(pause(100, 60)));
    fresh.other.note(pause(110, 51)).await.unwrap();
    assert_eq!(fresh.one.current().await.unwrap(), Some(pause(110, 51)));
}

async fn a_pause_that_is_over_gives_way_to_any_other(fresh: &Fresh<Port>) {
    fresh.one.note(pause(100, 60)).await.unwrap();
    fresh.one.note(pause(160, 1)).await.unwrap();
    assert_eq!(fresh.one.current().await.unwrap(), Some(pause(160, 1)));
}

async fn a_pause_from_before_the_clock_was_set_back_gives_way(fresh: &Fresh<Port>) {
    fresh.one.note(pause(10_000, 3600)).await.unwrap();
    // Another node's clock may be up to five minutes behind.
    fresh.one.note(pause(10_000 - 300, 5)).await.unwrap();
    assert_eq!(fresh.one.current().await.unwrap(), Some(pause(10_000, 3600)));
    fresh.one.note(pause(10_000 - 301, 5)).await.unwrap();
    assert_eq!(fresh.one.current().await.unwrap(), Some(pause(10_000 - 301, 5)));
}

async fn of_callers_at_once_the_longest_pause_stays(fresh: &Fresh<Port>) {
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
