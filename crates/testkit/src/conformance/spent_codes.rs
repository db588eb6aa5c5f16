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
    a_code_is_spent_once_until_its_mark_expires,
    a_mark_tolerates_clock_skew_but_not_a_clock_reset,
    a_restored_code_can_be_spent_again_through_any_handle,
    a_second_mark_lasts_to_its_own_end,
    exactly_one_concurrent_caller_spends_a_code,
    remembers_very_many_codes_by_every_byte,
    a_write_does_not_block_the_polling_thread,
}

fn code(number: u8) -> CodeFingerprint {
    let mut bytes = [0xC0; 32];
    if let Some(last) = bytes.last_mut() {
        *last = number;
    }
    CodeFingerprint::from_bytes(bytes)
}

async fn spend(store: &Port, number: u8, now: i64, until: i64) -> bool {
    store.spend(&code(number), at(now), at(until)).await.unwrap()
}

async fn a_code_is_spent_once_until_its_mark_expires(fresh: &Fresh<Port>) {
    for (now, until, expected) in [
        (0, 600, true),
        (0, 600, false),
        // A refused attempt does not extend the mark.
        (599, 5000, false),
        (600, 900, true),
        (899, 1000, false),
        (900, 1000, true),
    ] {
        assert_eq!(spend(&*fresh.one, 1, now, until).await, expected, "at {now}");
        assert!(!spend(&*fresh.other, 1, now, until).await, "at {now}, through the other handle");
    }
}

async fn a_mark_tolerates_clock_skew_but_not_a_clock_reset(fresh: &Fresh<Port>) {
    const MINUTE: i64 = 60_000_000;
    let spend = async |now: i64| spend(&*fresh.one, 1, now, now + 10 * MINUTE).await;
    assert!(spend(0).await);
    for behind in [1, 4 * MINUTE, 5 * MINUTE] {
        assert!(!spend(-behind).await, "{behind}");
    }
    assert!(spend(-5 * MINUTE - 1).await);
    assert!(!spend(-5 * MINUTE - 1).await, "the new mark counts");
}

async fn a_restored_code_can_be_spent_again_through_any_handle(fresh: &Fresh<Port>) {
    let (one, other) = (&*fresh.one, &*fresh.other);
    one.restore(&code(1)).await.unwrap();
    assert!(spend(one, 1, 0, 600).await, "restoring an unspent code does nothing");
    for (restorer, spender) in [(other, one), (one, other)] {
        restorer.restore(&code(1)).await.unwrap();
        assert!(spend(spender, 1, 1, 600).await);
        assert!(!spend(spender, 1, 1, 600).await);
    }
}

/// An index of expiry times must be updated with the mark, or it removes the next mark of the code.
async fn a_second_mark_lasts_to_its_own_end(fresh: &Fresh<Port>) {
    for (number, second_at) in [(1, 600), (2, 100)] {
        assert!(spend(&*fresh.one, number, 0, 600).await);
        if second_at < 600 {
            fresh.one.restore(&code(number)).await.unwrap();
        }
        assert!(spend(&*fresh.one, number, second_at, 1200).await);
    }
    // Until long after the first marks have expired.
    for number in 3..100 {
        assert!(spend(&*fresh.one, number, 700, 1300).await);
    }
    for (now, expected) in [(1199, false), (1200, true)] {
        for number in [1, 2] {
            assert_eq!(spend(&*fresh.one, number, now, now + 600).await, expected, "code {number} at {now}");
        }
    }
}

async fn exactly_one_concurrent_caller_spends_a_code(fresh: &Fresh<Port>) {
    for number in 0..3 {
        // The second round finds expired marks.
        for (now, until) in [(0, 600), (600, 1200)] {
            let first = fresh
                .concurrently(move |_, codes| async move { spend(&*codes, number, now, until).await })
                .await;
            assert_eq!(first.into_iter().filter(|first| *first).count(), 1, "at {now}");
        }
    }
}

/// Each differs from the others in a few bytes.
async fn remembers_very_many_codes_by_every_byte(fresh: &Fresh<Port>) {
    let numbered = (0..LOTS).map(|number| {
        let mut bytes = [0; 32];
        bytes.iter_mut().zip(number.to_be_bytes()).for_each(|(target, byte)| *target = byte);
        bytes
    });
    let marked = (0..32).map(|place| {
        let mut bytes = [0x5A; 32];
        bytes.iter_mut().skip(place).take(1).for_each(|byte| *byte = 0xA5);
        bytes
    });
    let codes: Vec<_> = numbered.chain(marked).map(CodeFingerprint::from_bytes).collect();
    for (expected, store) in [(true, &fresh.one), (false, &fresh.other)] {
        let spent = all_of(codes.iter().map(|code| store.spend(code, at(0), at(600)))).await;
        assert!(spent.into_iter().all(|first| first.unwrap() == expected));
    }
}

async fn a_write_does_not_block_the_polling_thread(fresh: &Fresh<Port>) {
    fresh.waits_elsewhere(async |store| spend(store, 1, 0, 600).await).await;
}
