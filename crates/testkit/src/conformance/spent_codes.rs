//! The contract of [`SpentCodes`].

use super::{
    Fresh,
    concurrency::all_of,
    sample::{LOTS, at},
};
use companion_domain::{model::CodeFingerprint, port::SpentCodes};

suite! {
    /// Generates one test per behaviour of `SpentCodes`.
    spent_codes_conformance($): spent_codes, dyn SpentCodes;
    a_code_is_spent_once,
    codes_are_independent,
    a_mark_expires_exactly_at_its_end,
    a_mark_tolerates_clock_skew_but_not_a_clock_reset,
    a_refused_attempt_does_not_extend_the_mark,
    an_expired_mark_allows_a_new_one,
    a_mark_after_an_expired_one_lasts_to_its_own_end,
    a_restored_code_can_be_spent_again,
    a_mark_after_a_restore_lasts_to_its_own_end,
    restoring_an_unspent_code_does_nothing,
    exactly_one_concurrent_caller_spends_a_code,
    exactly_one_concurrent_caller_spends_an_expired_code,
    every_byte_of_a_code_counts,
    remembers_very_many_codes,
    restores_a_code_through_any_handle,
    a_write_does_not_block_the_polling_thread needs Gating,
}

fn code(number: u8) -> CodeFingerprint {
    let mut bytes = [0xC0; 32];
    if let Some(last) = bytes.last_mut() {
        *last = number;
    }
    CodeFingerprint::from_bytes(bytes)
}

async fn a_code_is_spent_once(fresh: &Fresh<Port>) {
    assert!(fresh.one.spend(&code(1), at(0), at(600)).await.unwrap());
    assert!(!fresh.one.spend(&code(1), at(0), at(600)).await.unwrap());
    assert!(!fresh.other.spend(&code(1), at(1), at(601)).await.unwrap());
}

async fn codes_are_independent(fresh: &Fresh<Port>) {
    for number in 0..=255 {
        assert!(fresh.one.spend(&code(number), at(0), at(600)).await.unwrap(), "code {number}");
    }
    fresh.one.restore(&code(7)).await.unwrap();
    for number in 0..=255 {
        assert_eq!(
            fresh.one.spend(&code(number), at(1), at(600)).await.unwrap(),
            number == 7,
            "code {number}"
        );
    }
}

async fn a_mark_expires_exactly_at_its_end(fresh: &Fresh<Port>) {
    assert!(fresh.one.spend(&code(1), at(0), at(600)).await.unwrap());
    assert!(!fresh.one.spend(&code(1), at(599), at(900)).await.unwrap());
    assert!(fresh.one.spend(&code(1), at(600), at(900)).await.unwrap());
    assert!(
        !fresh.one.spend(&code(1), at(899), at(1000)).await.unwrap(),
        "the new mark counts as long as it says"
    );
    assert!(fresh.one.spend(&code(1), at(900), at(1000)).await.unwrap());
}

async fn a_mark_tolerates_clock_skew_but_not_a_clock_reset(fresh: &Fresh<Port>) {
    const MINUTE: i64 = 60_000_000;
    let spend = async |now: i64| fresh.one.spend(&code(1), at(now), at(now + 10 * MINUTE)).await.unwrap();
    assert!(spend(0).await);
    for behind in [1, 4 * MINUTE, 5 * MINUTE] {
        assert!(!spend(-behind).await, "{behind}");
    }
    assert!(spend(-5 * MINUTE - 1).await);
    assert!(!spend(-5 * MINUTE - 1).await, "the new mark counts");
}

async fn a_refused_attempt_does_not_extend_the_mark(fresh: &Fresh<Port>) {
    assert!(fresh.one.spend(&code(1), at(0), at(600)).await.unwrap());
    assert!(!fresh.one.spend(&code(1), at(599), at(5000)).await.unwrap());
    assert!(fresh.one.spend(&code(1), at(600), at(5000)).await.unwrap());
}

/// A store removes expired marks, and must not remove others with them.
async fn an_expired_mark_allows_a_new_one(fresh: &Fresh<Port>) {
    for number in 0..100 {
        let until = if number % 2 == 0 { 10 } else { 1000 };
        assert!(fresh.one.spend(&code(number), at(0), at(until)).await.unwrap());
    }
    assert!(fresh.one.spend(&code(200), at(10), at(1000)).await.unwrap());
    for number in 0..100 {
        let ran_out = number % 2 == 0;
        assert_eq!(fresh.one.spend(&code(number), at(10), at(1000)).await.unwrap(), ran_out, "code {number}");
    }
}

/// An index of expiry times must be updated with the mark, or it removes the next mark of the code.
async fn a_mark_after_an_expired_one_lasts_to_its_own_end(fresh: &Fresh<Port>) {
    assert!(fresh.one.spend(&code(1), at(0), at(600)).await.unwrap());
    assert!(fresh.one.spend(&code(1), at(600), at(1200)).await.unwrap());
    outlasts_those_that_run_out(fresh).await;
}

/// Spends codes until long after the first mark of code 1 has expired; the second counts until 1200.
async fn outlasts_those_that_run_out(fresh: &Fresh<Port>) {
    for number in 2..100 {
        assert!(fresh.one.spend(&code(number), at(700), at(1300)).await.unwrap());
    }
    assert!(!fresh.one.spend(&code(1), at(1199), at(1799)).await.unwrap(), "the mark of now counts");
    assert!(fresh.one.spend(&code(1), at(1200), at(1800)).await.unwrap());
}

async fn a_restored_code_can_be_spent_again(fresh: &Fresh<Port>) {
    assert!(fresh.one.spend(&code(1), at(0), at(600)).await.unwrap());
    fresh.one.restore(&code(1)).await.unwrap();
    assert!(fresh.other.spend(&code(1), at(1), at(600)).await.unwrap());
    assert!(!fresh.one.spend(&code(1), at(1), at(600)).await.unwrap());
}

async fn a_mark_after_a_restore_lasts_to_its_own_end(fresh: &Fresh<Port>) {
    assert!(fresh.one.spend(&code(1), at(0), at(600)).await.unwrap());
    fresh.one.restore(&code(1)).await.unwrap();
    assert!(fresh.one.spend(&code(1), at(100), at(1200)).await.unwrap());
    outlasts_those_that_run_out(fresh).await;
}

async fn restoring_an_unspent_code_does_nothing(fresh: &Fresh<Port>) {
    assert!(fresh.one.spend(&code(2), at(0), at(600)).await.unwrap());
    for _ in 0..2 {
        fresh.one.restore(&code(1)).await.unwrap();
    }
    assert!(!fresh.one.spend(&code(2), at(1), at(600)).await.unwrap());
    assert!(fresh.one.spend(&code(1), at(1), at(600)).await.unwrap());
}

async fn exactly_one_concurrent_caller_spends_a_code(fresh: &Fresh<Port>) {
    for number in 0..8 {
        let first = fresh
            .concurrently(
                move |_, codes| async move { codes.spend(&code(number), at(0), at(600)).await.unwrap() },
            )
            .await;
        assert_eq!(first.into_iter().filter(|first| *first).count(), 1);
    }
}

async fn exactly_one_concurrent_caller_spends_an_expired_code(fresh: &Fresh<Port>) {
    assert!(fresh.one.spend(&code(1), at(0), at(600)).await.unwrap());
    let first = fresh
        .concurrently(|_, codes| async move { codes.spend(&code(1), at(600), at(1200)).await.unwrap() })
        .await;
    assert_eq!(first.into_iter().filter(|first| *first).count(), 1);
}

async fn every_byte_of_a_code_counts(fresh: &Fresh<Port>) {
    for place in 0..32 {
        let mut bytes = [0x5A; 32];
        bytes.iter_mut().skip(place).take(1).for_each(|byte| *byte = 0xA5);
        let code = CodeFingerprint::from_bytes(bytes);
        assert!(fresh.one.spend(&code, at(0), at(600)).await.unwrap(), "byte {place}");
        assert!(!fresh.other.spend(&code, at(0), at(600)).await.unwrap(), "byte {place}");
    }
}

async fn remembers_very_many_codes(fresh: &Fresh<Port>) {
    let code = |number: u64| {
        let mut bytes = [0; 32];
        bytes.iter_mut().zip(number.to_be_bytes()).for_each(|(target, byte)| *target = byte);
        CodeFingerprint::from_bytes(bytes)
    };
    let codes: Vec<_> = (0..LOTS).map(code).collect();
    for (expected, store) in [(true, &fresh.one), (false, &fresh.other)] {
        let spent = all_of(codes.iter().map(|code| store.spend(code, at(0), at(600)))).await;
        assert!(spent.into_iter().all(|first| first.unwrap() == expected));
    }
}

async fn restores_a_code_through_any_handle(fresh: &Fresh<Port>) {
    assert!(fresh.one.spend(&code(1), at(0), at(600)).await.unwrap());
    fresh.other.restore(&code(1)).await.unwrap();
    assert!(fresh.one.spend(&code(1), at(1), at(600)).await.unwrap());
    fresh.one.restore(&code(1)).await.unwrap();
    assert!(fresh.other.spend(&code(1), at(2), at(600)).await.unwrap());
    assert!(!fresh.one.spend(&code(1), at(2), at(600)).await.unwrap());
}

async fn a_write_does_not_block_the_polling_thread(fresh: &Fresh<Port>) {
    fresh.waits_elsewhere(async |store| store.spend(&code(1), at(0), at(600)).await.unwrap()).await;
}
