//! A fault and the behaviour that detects it, and common corruptions of text.

use companion_domain::model::{Name, Prose};
use companion_storage_memory::MemoryStorage;
use companion_testkit::conformance::{Behaviour, Fresh, Stores, run};
use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

/// Declares faults by the behaviours that detect them, and a function that returns all proofs. A suite is followed by
/// the constructor of its wrong adapter. A behaviour is followed by its faults, each with a description: a name that
/// becomes a variant of the enum, or in brackets a value of a given variant.
macro_rules! faults {
    (
        fn $proofs:ident, enum $fault:ident { $($given:tt)* }
        $($suite:ident($wrong:expr) {
            $($behaviour:ident: $($($name:ident)? $([$value:expr])? $words:literal),+;)+
        })+
    ) => {
        #[derive(Clone, Copy, PartialEq)]
        enum $fault { $($($($($name,)?)+)+)+ $($given)* }

        pub(crate) fn $proofs() -> Vec<crate::conformance::proof::Proof> {
            let mut proofs = Vec::new();
            $($($({
                let fault = $($fault::$name)? $($value)?;
                let wrong: fn($fault) -> companion_testkit::conformance::Fresh<companion_testkit::conformance::$suite::Port> = $wrong;
                proofs.push(crate::conformance::proof::Proof {
                    suite: stringify!($suite),
                    fault: $words,
                    behaviour: stringify!($behaviour),
                    is_caught: Box::new(move || {
                        let suite = companion_testkit::conformance::$suite::SUITE;
                        crate::conformance::proof::fails(suite, stringify!($behaviour), wrong(fault))
                    }),
                });
            })+)+)+
            proofs
        }
    };
}
pub(crate) use faults;

/// Timeout for wrong adapters that block.
const BLOCKED_AFTER: Duration = Duration::from_millis(500);

/// A wrong adapter and the behaviour that must detect it.
pub(crate) struct Proof {
    pub(crate) suite: &'static str,
    pub(crate) fault: &'static str,
    pub(crate) behaviour: &'static str,
    pub(crate) is_caught: Box<dyn Fn() -> bool>,
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} → {}::{}", self.fault, self.suite, self.behaviour)
    }
}

/// Returns whether a behaviour fails on this adapter. The panic prints why.
pub(crate) fn fails<P: ?Sized>(suite: &[Behaviour<P>], name: &str, fresh: Fresh<P>) -> bool {
    let fresh = fresh.giving_up_after(BLOCKED_AFTER);
    catch_unwind(AssertUnwindSafe(|| run(suite, name, async { fresh }))).is_err()
}

/// Returns the adapter that all wrong ones wrap.
pub(crate) fn memory() -> Arc<MemoryStorage> {
    Arc::new(MemoryStorage::new())
}

/// Returns all ports, with one of them replaced.
pub(crate) fn with(exchange: impl FnOnce(&mut Stores)) -> Fresh<Stores> {
    let mut stores = Stores::of(&memory());
    exchange(&mut stores);
    Fresh::new(Arc::new(stores))
}

/// Yields once, which gives a caller the chance to cancel the write here.
pub(crate) async fn a_turn() {
    tokio::task::yield_now().await;
}

/// Yields long enough for another task to read.
pub(crate) async fn a_while() {
    for _ in 0..50 {
        a_turn().await;
    }
}

/// A barrier for concurrent callers of a wrong adapter: two have read before either writes.
#[derive(Default)]
pub(crate) struct Rendezvous(AtomicUsize);

impl Rendezvous {
    /// Returns how many callers came so far, this one included.
    pub(crate) fn count(&self) -> u64 {
        self.0.fetch_add(1, Ordering::SeqCst) as u64 + 1
    }

    /// Waits for another caller; a lone one goes on after a while.
    pub(crate) async fn wait(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
        let another = async {
            while self.0.load(Ordering::SeqCst) < 2 {
                a_turn().await;
            }
        };
        let _ = tokio::time::timeout(Duration::from_secs(2), another).await;
    }
}

/// Returns two handles, each created separately.
pub(crate) fn handles<P: ?Sized>(make: impl Fn() -> Arc<P>) -> Fresh<P> {
    Fresh::new(make()).with_other(make())
}

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A corruption of stored text.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Spoilt {
    /// Leading and trailing blanks are removed.
    Trimmed,
    /// Combining sequences are composed.
    Composed,
    /// Truncated to 255 bytes.
    Cut,
}

impl Spoilt {
    fn text(self, text: &str) -> String {
        match self {
            Self::Trimmed => text.trim().to_owned(),
            Self::Composed => text.replace("e\u{301}", "é"),
            Self::Cut => text.split_at(text.floor_char_boundary(255)).0.to_owned(),
        }
    }

    pub(crate) fn name(self, name: &Name) -> Name {
        self.text(name.as_str()).parse().unwrap_or_else(|_| name.clone())
    }

    pub(crate) fn prose(self, prose: &Prose) -> Prose {
        self.text(prose.as_str()).parse().unwrap_or_else(|_| prose.clone())
    }
}

/// Whether a LIKE pattern matches this text, with an underscore for any character.
pub(crate) fn matches_pattern(text: &str, pattern: &str) -> bool {
    text.len() == pattern.len()
        && text.chars().zip(pattern.chars()).all(|(one, any)| one == any || any == '_')
}
