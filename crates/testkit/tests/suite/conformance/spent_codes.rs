//! Wrong memories of spent codes.

use crate::conformance::proof::{a_while, faults, handles, locked, memory};
use async_trait::async_trait;
use companion_domain::{
    model::{CodeFingerprint, Timestamp},
    port::{SpentCodes, StoreError},
};
use companion_storage_memory::MemoryStorage;
use companion_testkit::conformance::Fresh;
use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

faults! {
    enum Fault {}
    spent_codes(Fresh::new(memory()), wrong) {
        of_callers_at_once_exactly_one_is_first: TwoAreFirst "two callers spend the same code";
        a_mark_counts_to_its_last_microsecond_and_not_longer:
            NeverRunsOut "a mark never runs out",
            RunsOutLate "a mark counts a microsecond too long",
            RunsOutEarly "a mark runs out a microsecond early";
        a_mark_counts_for_a_clock_that_differs_and_not_for_one_that_was_set_back:
            FarAheadCounts "a mark counts though a clock was set back by hours",
            AnyAheadRunsOut "a mark of a clock that is ahead by minutes is dropped";
        a_refused_attempt_does_not_prolong_the_mark: RefusalProlongs "a refused attempt prolongs the mark";
        a_restored_code_can_be_spent_again: RestoreDoesNothing "a code is never given back";
        every_byte_of_a_code_counts: ByTail "codes are known by the second half of their fingerprint";
        very_many_codes_are_remembered: RemembersThousand "only the last thousand codes are remembered";
        a_code_is_restored_through_any_handle: RestoredBySpender "a code is given back only where it was spent";
        a_code_is_spent_once: MarksOfTheHandle "each handle has marks of its own";
        a_mark_made_after_a_restore_counts_to_its_own_end:
            RestoredStaysInTheIndex "a restored code stays in the index of ends, and its next mark is dropped by it";
        a_mark_made_after_another_ran_out_counts_to_its_own_end:
            ReplacedStaysInTheIndex "a mark that was replaced stays in the index of ends, and the new one is dropped by it";
    }
}

fn wrong(fault: Fault) -> Fresh<dyn SpentCodes> {
    let inner = memory();
    handles(|| -> Arc<dyn SpentCodes> {
        let (inner, marks, order) = (Arc::clone(&inner), Mutex::default(), Mutex::default());
        Arc::new(Wrong { inner, fault, marks, order, ends: Mutex::default() })
    })
}

struct Wrong {
    inner: Arc<MemoryStorage>,
    fault: Fault,
    marks: Mutex<HashMap<CodeFingerprint, Timestamp>>,
    /// Codes in the order in which they were spent.
    order: Mutex<VecDeque<CodeFingerprint>>,
    /// Codes by the end of their marks.
    ends: Mutex<Vec<(Timestamp, CodeFingerprint)>>,
}

impl Wrong {
    fn marked(&self, code: &CodeFingerprint, now: Timestamp) -> bool {
        let marks = locked(&self.marks);
        marks.get(code).is_some_and(|until| *until > now)
    }

    /// The code that is too many, once this one has been spent.
    fn pushed_out(&self, code: &CodeFingerprint) -> Option<CodeFingerprint> {
        let mut order = locked(&self.order);
        order.push_back(*code);
        if order.len() > 1000 { order.pop_front() } else { None }
    }

    /// Drops the marks that the index says are over.
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
impl SpentCodes for Wrong {
    async fn spend(
        &self,
        code: &CodeFingerprint,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<bool, StoreError> {
        let microsecond = Duration::from_micros(1);
        match self.fault {
            Fault::NeverRunsOut => self.inner.spend(code, Timestamp::EPOCH, until).await,
            Fault::RunsOutLate => self.inner.spend(code, now.before(microsecond), until).await,
            Fault::RunsOutEarly => self.inner.spend(code, now.after(microsecond), until).await,
            Fault::FarAheadCounts => {
                let first = !self.marked(code, now) && self.inner.spend(code, now, until).await?;
                if first {
                    self.mark(code, until);
                }
                Ok(first)
            }
            Fault::AnyAheadRunsOut => {
                if self.marked(code, until) {
                    self.inner.restore(code).await?;
                }
                self.mark(code, until);
                self.inner.spend(code, now, until).await
            }
            Fault::TwoAreFirst => {
                let first = !self.marked(code, now);
                a_while().await;
                self.mark(code, until);
                Ok(first)
            }
            Fault::RefusalProlongs => {
                let first = !self.marked(code, now);
                self.mark(code, until);
                Ok(first)
            }
            Fault::ByTail => self.inner.spend(&tail(code), now, until).await,
            Fault::RemembersThousand => {
                let first = self.inner.spend(code, now, until).await?;
                if let Some(oldest) = first.then(|| self.pushed_out(code)).flatten() {
                    self.inner.restore(&oldest).await?;
                }
                Ok(first)
            }
            Fault::MarksOfTheHandle => {
                let first = !self.marked(code, now);
                self.mark(code, until);
                Ok(first)
            }
            Fault::RestoredStaysInTheIndex => {
                self.tidy(now).await?;
                let first = self.inner.spend(code, now, until).await?;
                self.ends().extend(first.then_some((until, *code)));
                Ok(first)
            }
            Fault::ReplacedStaysInTheIndex => {
                let first = self.inner.spend(code, now, until).await?;
                self.ends().extend(first.then_some((until, *code)));
                // Tidying up now and then is enough; by then the code may have another mark.
                if self.ends().len() > 2 {
                    self.tidy(now).await?;
                }
                Ok(first)
            }
            Fault::RestoreDoesNothing | Fault::RestoredBySpender => {
                self.mark(code, until);
                self.inner.spend(code, now, until).await
            }
        }
    }

    async fn restore(&self, code: &CodeFingerprint) -> Result<(), StoreError> {
        match self.fault {
            Fault::RestoreDoesNothing => Ok(()),
            Fault::RestoredBySpender if !self.marked(code, Timestamp::EPOCH) => Ok(()),
            Fault::ByTail => self.inner.restore(&tail(code)).await,
            _ => self.inner.restore(code).await,
        }
    }
}

fn tail(code: &CodeFingerprint) -> CodeFingerprint {
    let mut bytes = *code.as_bytes();
    bytes.iter_mut().take(16).for_each(|byte| *byte = 0);
    CodeFingerprint::from_bytes(bytes)
}
