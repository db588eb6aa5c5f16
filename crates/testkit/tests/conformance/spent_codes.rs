//! Wrong memories of spent codes.

use crate::proof::{Proof, Workshop, memory};
use async_trait::async_trait;
use companion_domain::{
    model::{CodeFingerprint, Timestamp},
    port::{SpentCodes, StoreError},
};
use companion_storage_memory::MemoryStorage;
use companion_testkit::conformance::{Fresh, spent_codes::SUITE};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

#[derive(Clone, Copy)]
enum Fault {
    TwoAreFirst,
    NeverRunsOut,
    RunsOutLate,
    RunsOutEarly,
    FarAheadCounts,
    AnyAheadRunsOut,
    RefusalProlongs,
    RestoreDoesNothing,
}

pub(crate) fn proofs() -> Vec<Proof> {
    use Fault as F;
    let workshop = Workshop {
        suite: "spent_codes",
        behaviours: SUITE,
        sound: || Fresh::new(memory()),
        wrong: |fault| Fresh::new(Arc::new(Wrong { inner: memory(), fault, marks: Mutex::default() })),
    };
    let boundary = "a_mark_counts_to_its_last_microsecond_and_not_longer";
    let clocks = "a_mark_counts_for_a_clock_that_differs_and_not_for_one_that_was_set_back";
    workshop.proofs(&[
        (F::TwoAreFirst, "two callers spend the same code", "of_callers_at_once_exactly_one_is_first"),
        (F::NeverRunsOut, "a mark never runs out", boundary),
        (F::RunsOutLate, "a mark counts a microsecond too long", boundary),
        (F::RunsOutEarly, "a mark runs out a microsecond early", boundary),
        (F::FarAheadCounts, "a mark counts though a clock was set back by hours", clocks),
        (F::AnyAheadRunsOut, "a mark of a clock that is ahead by minutes is dropped", clocks),
        (
            F::RefusalProlongs,
            "a refused attempt prolongs the mark",
            "a_refused_attempt_does_not_prolong_the_mark",
        ),
        (F::RestoreDoesNothing, "a code is never given back", "a_restored_code_can_be_spent_again"),
    ])
}

struct Wrong {
    inner: Arc<MemoryStorage>,
    fault: Fault,
    marks: Mutex<HashMap<CodeFingerprint, Timestamp>>,
}

impl Wrong {
    fn marked(&self, code: &CodeFingerprint, now: Timestamp) -> bool {
        let marks = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        marks.get(code).is_some_and(|until| *until > now)
    }

    fn mark(&self, code: &CodeFingerprint, until: Timestamp) {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner).insert(*code, until);
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
                for _ in 0..50 {
                    tokio::task::yield_now().await;
                }
                self.mark(code, until);
                Ok(first)
            }
            Fault::RefusalProlongs => {
                let first = !self.marked(code, now);
                self.mark(code, until);
                Ok(first)
            }
            Fault::RestoreDoesNothing => self.inner.spend(code, now, until).await,
        }
    }

    async fn restore(&self, code: &CodeFingerprint) -> Result<(), StoreError> {
        match self.fault {
            Fault::RestoreDoesNothing => Ok(()),
            _ => self.inner.restore(code).await,
        }
    }
}
