//! Wrong memories of the platform's pauses.

use crate::proof::{Proof, Workshop, handles, memory};
use async_trait::async_trait;
use companion_domain::port::{PlatformPause, PlatformPauses, StoreError};
use companion_testkit::conformance::{Fresh, platform_pauses::SUITE};
use std::sync::{Arc, Mutex, PoisonError};

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
            let shared: Arc<Mutex<Option<PlatformPause>>> = Arc::default();
            handles(|| -> Arc<dyn PlatformPauses> {
                let known = if fault == Fault::OfTheHandle { Arc::default() } else { Arc::clone(&shared) };
                Arc::new(Wrong { fault, known })
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
}

impl Wrong {
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
            // The longer it is, the sooner it is overwritten.
            for _ in 0..100_u64.saturating_sub(pause.wait.as_secs()) {
                tokio::task::yield_now().await;
            }
        }
        if left < Some(pause.wait) {
            *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Some(pause);
        }
        Ok(())
    }

    async fn current(&self) -> Result<Option<PlatformPause>, StoreError> {
        Ok(self.known().map(|known| match self.fault {
            Fault::InSeconds => {
                PlatformPause { wait: std::time::Duration::from_secs(known.wait.as_secs()), ..known }
            }
            _ => known,
        }))
    }
}
