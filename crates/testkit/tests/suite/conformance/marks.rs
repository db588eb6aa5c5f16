//! Wrong stores of spent codes and of platform pauses.

use crate::conformance::proof::{a_while, faults, handles, locked, memory};
use async_trait::async_trait;
use companion_domain::{
    model::{CodeFingerprint, Timestamp},
    port::{PlatformPause, PlatformPauses, SpentCodes, StoreError},
};
use companion_storage_memory::MemoryStorage;
use companion_testkit::conformance::{CALLERS, Fresh};
use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

faults! {
    fn code_proofs, enum CodeFault {}
    spent_codes(wrong_code) {
        exactly_one_concurrent_caller_spends_a_code: TwoAreFirst "two callers spend the same code";
        a_code_is_spent_once_until_its_mark_expires:
            RunsOutLate "a mark expires a microsecond late",
            RunsOutEarly "a mark expires a microsecond early",
            RefusalProlongs "a refused attempt extends the mark",
            MarksOfTheHandle "each handle has its own marks";
        a_mark_tolerates_clock_skew_but_not_a_clock_reset:
            FarAheadCounts "a mark counts after a clock reset by hours";
        a_restored_code_can_be_spent_again_through_any_handle:
            RestoredBySpender "a code is restored only through the spending handle";
        remembers_very_many_codes_by_every_byte:
            ByTail "codes are identified by half of their fingerprint",
            RemembersThousand "only the last thousand codes are remembered";
        a_second_mark_lasts_to_its_own_end:
            ReplacedStaysInTheIndex "a replaced mark stays in the expiry index, which removes the new one";
    }
}

fn wrong_code(fault: CodeFault) -> Fresh<dyn SpentCodes> {
    let inner = memory();
    handles(|| -> Arc<dyn SpentCodes> {
        let (inner, marks, order) = (Arc::clone(&inner), Mutex::default(), Mutex::default());
        Arc::new(WrongCodes { inner, fault, marks, order, ends: Mutex::default() })
    })
}

struct WrongCodes {
    inner: Arc<MemoryStorage>,
    fault: CodeFault,
    marks: Mutex<HashMap<CodeFingerprint, Timestamp>>,
    /// Codes in the order in which they were spent.
    order: Mutex<VecDeque<CodeFingerprint>>,
    /// Codes by the expiry of their marks.
    ends: Mutex<Vec<(Timestamp, CodeFingerprint)>>,
}

impl WrongCodes {
    fn marked(&self, code: &CodeFingerprint, now: Timestamp) -> bool {
        let marks = locked(&self.marks);
        marks.get(code).is_some_and(|until| *until > now)
    }

    /// Returns the code that is evicted when this one is spent.
    fn pushed_out(&self, code: &CodeFingerprint) -> Option<CodeFingerprint> {
        let mut order = locked(&self.order);
        order.push_back(*code);
        if order.len() > 1000 { order.pop_front() } else { None }
    }

    /// Removes the marks that the index lists as expired.
    async fn tidy(&self, now: Timestamp) -> Result<(), StoreError> {
        let over: Vec<_> = self.ends().extract_if(.., |(end, _)| *end <= now).collect();
        for (_, code) in over {
            self.inner.restore(&code).await?;
        }
        Ok(())
    }

    fn ends(&self) -> MutexGuard<'_, Vec<(Timestamp, CodeFingerprint)>> {
        locked(&self.ends)
    }

    fn mark(&self, code: &CodeFingerprint, until: Timestamp) {
        locked(&self.marks).insert(*code, until);
    }
}

#[async_trait]
impl SpentCodes for WrongCodes {
    async fn spend(
        &self,
        code: &CodeFingerprint,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<bool, StoreError> {
        let microsecond = Duration::from_micros(1);
        match self.fault {
            CodeFault::RunsOutLate => self.inner.spend(code, now.before(microsecond), until).await,
            CodeFault::RunsOutEarly => self.inner.spend(code, now.after(microsecond), until).await,
            CodeFault::FarAheadCounts => {
                let first = !self.marked(code, now) && self.inner.spend(code, now, until).await?;
                if first {
                    self.mark(code, until);
                }
                Ok(first)
            }
            CodeFault::TwoAreFirst => {
                let first = !self.marked(code, now);
                a_while().await;
                self.mark(code, until);
                Ok(first)
            }
            CodeFault::ByTail => self.inner.spend(&tail(code), now, until).await,
            CodeFault::RemembersThousand => {
                let first = self.inner.spend(code, now, until).await?;
                if let Some(oldest) = first.then(|| self.pushed_out(code)).flatten() {
                    self.inner.restore(&oldest).await?;
                }
                Ok(first)
            }
            CodeFault::RefusalProlongs | CodeFault::MarksOfTheHandle => {
                let first = !self.marked(code, now);
                self.mark(code, until);
                Ok(first)
            }
            CodeFault::ReplacedStaysInTheIndex => {
                let first = self.inner.spend(code, now, until).await?;
                self.ends().extend(first.then_some((until, *code)));
                // Cleaning up occasionally is enough; by then the code may have another mark.
                if self.ends().len() > 2 {
                    self.tidy(now).await?;
                }
                Ok(first)
            }
            CodeFault::RestoredBySpender => {
                self.mark(code, until);
                self.inner.spend(code, now, until).await
            }
        }
    }

    async fn restore(&self, code: &CodeFingerprint) -> Result<(), StoreError> {
        match self.fault {
            CodeFault::RestoredBySpender if !self.marked(code, Timestamp::EPOCH) => Ok(()),
            CodeFault::ByTail => self.inner.restore(&tail(code)).await,
            _ => self.inner.restore(code).await,
        }
    }
}

fn tail(code: &CodeFingerprint) -> CodeFingerprint {
    let mut bytes = *code.as_bytes();
    bytes.iter_mut().take(16).for_each(|byte| *byte = 0);
    CodeFingerprint::from_bytes(bytes)
}

faults! {
    fn pause_proofs, enum PauseFault {}
    platform_pauses(wrong_pause) {
        the_pause_with_more_time_left_wins:
            TheLastCounts "a shorter pause replaces a longer one",
            TheFirstCounts "an expired pause is kept",
            FarAheadCounts "a pause counts after a clock reset by hours";
        a_pause_is_visible_to_all_handles:
            OfTheHandle "a pause is known only to the handle that stored it",
            InSeconds "pauses are stored in whole seconds";
        concurrent_callers_leave_the_longest_pause: NotAtomic "reading and replacing are two steps";
    }
}

fn wrong_pause(fault: PauseFault) -> Fresh<dyn PlatformPauses> {
    let (shared, looked): (Arc<Mutex<Option<PlatformPause>>>, _) = Default::default();
    handles(|| -> Arc<dyn PlatformPauses> {
        let known = if fault == PauseFault::OfTheHandle { Arc::default() } else { Arc::clone(&shared) };
        Arc::new(WrongPauses { fault, known, looked: Arc::clone(&looked) })
    })
}

struct WrongPauses {
    fault: PauseFault,
    known: Arc<Mutex<Option<PlatformPause>>>,
    looked: Arc<Mutex<Looked>>,
}

/// Callers that have read, and write only when all have read.
#[derive(Default)]
struct Looked {
    callers: u64,
    /// Callers that have not written yet.
    waiting: BTreeSet<Duration>,
}

impl Looked {
    /// Whether it is this caller's turn: longer pauses are written first, and so overwritten.
    fn is_next(&self, wait: Duration) -> bool {
        self.callers == CALLERS && self.waiting.last() == Some(&wait)
    }
}

impl WrongPauses {
    fn looked(&self) -> MutexGuard<'_, Looked> {
        locked(&self.looked)
    }

    fn known(&self) -> Option<PlatformPause> {
        *locked(&self.known)
    }
}

#[async_trait]
impl PlatformPauses for WrongPauses {
    async fn note(&self, pause: PlatformPause) -> Result<(), StoreError> {
        let known = self.known();
        let left = known.and_then(|known| match self.fault {
            PauseFault::TheLastCounts => None,
            PauseFault::TheFirstCounts => Some(known.wait),
            PauseFault::FarAheadCounts => known.wait.checked_sub(pause.said_at.since(known.said_at)),
            PauseFault::OfTheHandle | PauseFault::InSeconds | PauseFault::NotAtomic => {
                known.left(pause.said_at)
            }
        });
        if self.fault == PauseFault::NotAtomic {
            self.looked().callers += 1;
            self.looked().waiting.insert(pause.wait);
            while !self.looked().is_next(pause.wait) {
                tokio::task::yield_now().await;
            }
        }
        if left < Some(pause.wait) {
            *locked(&self.known) = Some(pause);
        }
        self.looked().waiting.remove(&pause.wait);
        Ok(())
    }

    async fn current(&self) -> Result<Option<PlatformPause>, StoreError> {
        Ok(self.known().map(|known| match self.fault {
            PauseFault::InSeconds => {
                PlatformPause { wait: Duration::from_secs(known.wait.as_secs()), ..known }
            }
            _ => known,
        }))
    }
}
