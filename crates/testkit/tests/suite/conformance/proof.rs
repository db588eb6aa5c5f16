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
/// the constructors of its sound and its wrong adapter. A behaviour is followed by its faults, each with a description:
/// a name that becomes a variant of the enum, or in brackets a value of a given variant.
macro_rules! faults {
    (
        fn $proofs:ident, enum $fault:ident { $($given:tt)* }
        $($suite:ident($sound:expr, $wrong:expr) {
            $($behaviour:ident: $($($name:ident)? $([$value:expr])? $words:literal),+;)+
        })+
    ) => {
        #[derive(Clone, Copy, PartialEq)]
        enum $fault { $($($($($name,)?)+)+)+ $($given)* }

        pub(crate) fn $proofs() -> Vec<crate::conformance::proof::Proof> {
            let mut proofs = Vec::new();
            $(proofs.extend(crate::conformance::proof::Workshop {
                suite: stringify!($suite),
                behaviours: companion_testkit::conformance::$suite::SUITE,
                sound: || $sound,
                wrong: $wrong,
            }.proofs(&[$($(($($fault::$name)? $($value)?, $words, stringify!($behaviour)),)+)+]));)+
            proofs
        }
    };
}
pub(crate) use faults;

/// Timeout for wrong adapters that block.
const BLOCKED_AFTER: Duration = Duration::from_millis(500);

/// The result of a check: `Err` with the failure message of the behaviour.
type Outcome = Result<(), String>;

/// A wrong adapter and the behaviour that must detect it.
pub(crate) struct Proof {
    pub(crate) suite: &'static str,
    pub(crate) fault: &'static str,
    pub(crate) behaviour: &'static str,
    sound: Box<dyn Fn() -> Outcome + Send + Sync>,
    wrong: Box<dyn Fn() -> Outcome + Send + Sync>,
}

impl Proof {
    pub(crate) fn on_the_sound_adapter(&self) -> Outcome {
        (self.sound)()
    }

    pub(crate) fn on_the_wrong_adapter(&self) -> Outcome {
        (self.wrong)()
    }
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} → {}::{}", self.fault, self.suite, self.behaviour)
    }
}

/// The constructors of one suite's adapters.
pub(crate) struct Workshop<P: ?Sized + 'static, F: 'static> {
    /// The name of the suite.
    pub(crate) suite: &'static str,
    pub(crate) behaviours: &'static [Behaviour<P>],
    pub(crate) sound: fn() -> Fresh<P>,
    pub(crate) wrong: fn(F) -> Fresh<P>,
}

impl<P: ?Sized, F: Copy + Send + Sync> Workshop<P, F> {
    /// Returns one proof per fault: its description, and the behaviour that detects it.
    pub(crate) fn proofs(self, faults: &[(F, &'static str, &'static str)]) -> Vec<Proof> {
        let Self { suite, behaviours, sound, wrong } = self;
        let proof = |(fault, words, behaviour): &(F, &'static str, &'static str)| {
            let (fault, behaviour) = (*fault, *behaviour);
            Proof {
                suite,
                fault: words,
                behaviour,
                sound: Box::new(move || outcome(behaviours, behaviour, sound())),
                wrong: Box::new(move || {
                    outcome(behaviours, behaviour, wrong(fault).giving_up_after(BLOCKED_AFTER))
                }),
            }
        };
        faults.iter().map(proof).collect()
    }
}

fn outcome<P: ?Sized>(suite: &[Behaviour<P>], name: &str, fresh: Fresh<P>) -> Outcome {
    let checked = catch_unwind(AssertUnwindSafe(|| run(suite, name, async { fresh })));
    checked.map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let words = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without words");
        words
            .lines()
            .take(3)
            .map(|line| line.chars().take(100).collect::<String>())
            .collect::<Vec<_>>()
            .join(" ")
    })
}

/// Returns the adapter that all wrong ones wrap.
pub(crate) fn memory() -> Arc<MemoryStorage> {
    Arc::new(MemoryStorage::new())
}

/// Returns all its ports.
pub(crate) fn stores() -> Stores {
    Stores::of(&memory())
}

/// Returns all ports, with one of them replaced.
pub(crate) fn with(exchange: impl FnOnce(&mut Stores)) -> Fresh<Stores> {
    let mut stores = stores();
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
