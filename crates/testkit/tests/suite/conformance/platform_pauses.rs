//! Wrong memories of the platform's pauses.

use crate::conformance::proof::{Proof, Workshop, handles, memory};
use async_trait::async_trait;
use companion_domain::port::{PlatformPause, PlatformPauses, StoreError};
use companion_testkit::conformance::{CALLERS, Fresh, platform_pauses::SUITE};
use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

#[derive(Clone, Copy, PartialEq)]
enum Fault {
    TheLastCounts,
    TheFirstCounts,
    FarAheadCounts,
    OfTheHandle,
    InSeconds,
    NotAtomic,
}

pub(crate) fn proofs() -> Vec<Proof> {
    use Fault as F;
    let workshop = Workshop {
        suite: "platform_pauses",
        behaviours: SUITE,
        sound: || Fresh::new(memory()),
        wrong: |fault| {
            let (shared, looked): (Arc<Mutex<Option<PlatformPause>>>, _) = Default::default();
            handles(|| -> Arc<dyn PlatformPauses> {
                let known = if fault == Fault::OfTheHandle { Arc::default() } else { Arc::clone(&shared) };
                Arc::new(Wrong { fault, known, looked: Arc::clone(&looked) })
            })
        },
    };
    let longer = "of_two_pauses_the_one_stays_of_which_more_is_left";
    let told = "what_was_said_to_one_is_known_to_all";
    workshop.proofs(&[
        (F::TheLastCounts, "a shorter pause replaces a longer one", longer),
        (F::TheFirstCounts, "a pause that is over is kept", "a_pause_that_is_over_gives_way_to_any_other"),
        (
            F::FarAheadCounts,
            "a pause counts though a clock was set back by hours",
            "a_pause_from_before_the_clock_was_set_back_gives_way",
        ),
        (F::OfTheHandle, "only the node that was told knows of a pause", told),
        (F::InSeconds, "pauses are kept in whole seconds", told),
        (F::NotAtomic, "looking and replacing are two steps", "of_callers_at_once_the_longest_pause_stays"),
    ])
}

struct Wrong {
    fault: Fault,
    known: Arc<Mutex<Option<PlatformPause>>>,
    looked: Arc<Mutex<Looked>>,
}

/// Callers who have looked, and replace what they found only when all have.
#[derive(Default)]
struct Looked {
    callers: u64,
    /// Those who have replaced nothing yet.
    waiting: BTreeSet<Duration>,
}

impl Looked {
    /// Whether it is this one's turn: the longer a pause is, the sooner it is overwritten.
    fn is_next(&self, wait: Duration) -> bool {
        self.callers == CALLERS && self.waiting.last() == Some(&wait)
    }
}

impl Wrong {
    fn looked(&self) -> MutexGuard<'_, Looked> {
        self.looked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn known(&self) -> Option<PlatformPause> {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl PlatformPauses for Wrong {
    async fn note(&self, pause: PlatformPause) -> Result<(), StoreError> {
        let known = self.known();
        let left = known.and_then(|known| match self.fault {
            Fault::TheLastCounts => None,
            Fault::TheFirstCounts => Some(known.wait),
            Fault::FarAheadCounts => known.wait.checked_sub(pause.said_at.since(known.said_at)),
            Fault::OfTheHandle | Fault::InSeconds | Fault::NotAtomic => known.left(pause.said_at),
        });
        if self.fault == Fault::NotAtomic {
            self.looked().callers += 1;
            self.looked().waiting.insert(pause.wait);
            while !self.looked().is_next(pause.wait) {
                tokio::task::yield_now().await;
            }
        }
        if left < Some(pause.wait) {
            *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Some(pause);
        }
        self.looked().waiting.remove(&pause.wait);
        Ok(())
    }

    async fn current(&self) -> Result<Option<PlatformPause>, StoreError> {
        Ok(self.known().map(|known| match self.fault {
            Fault::InSeconds => PlatformPause { wait: Duration::from_secs(known.wait.as_secs()), ..known },
            _ => known,
        }))
    }
}
