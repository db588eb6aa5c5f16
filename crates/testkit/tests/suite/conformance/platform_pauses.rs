//! Wrong memories of the platform's pauses.

use crate::conformance::proof::{faults, handles, locked, memory};
use async_trait::async_trait;
use companion_domain::port::{PlatformPause, PlatformPauses, StoreError};
use companion_testkit::conformance::{CALLERS, Fresh};
use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

faults! {
    enum Fault {}
    platform_pauses(Fresh::new(memory()), wrong) {
        of_two_pauses_the_one_stays_of_which_more_is_left: TheLastCounts "a shorter pause replaces a longer one";
        a_pause_that_is_over_gives_way_to_any_other: TheFirstCounts "a pause that is over is kept";
        a_pause_from_before_the_clock_was_set_back_gives_way:
            FarAheadCounts "a pause counts though a clock was set back by hours";
        what_was_said_to_one_is_known_to_all:
            OfTheHandle "only the node that was told knows of a pause",
            InSeconds "pauses are kept in whole seconds";
        of_callers_at_once_the_longest_pause_stays: NotAtomic "looking and replacing are two steps";
    }
}

fn wrong(fault: Fault) -> Fresh<dyn PlatformPauses> {
    let (shared, looked): (Arc<Mutex<Option<PlatformPause>>>, _) = Default::default();
    handles(|| -> Arc<dyn PlatformPauses> {
        let known = if fault == Fault::OfTheHandle { Arc::default() } else { Arc::clone(&shared) };
        Arc::new(Wrong { fault, known, looked: Arc::clone(&looked) })
    })
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
        locked(&self.looked)
    }

    fn known(&self) -> Option<PlatformPause> {
        *locked(&self.known)
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
            *locked(&self.known) = Some(pause);
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
