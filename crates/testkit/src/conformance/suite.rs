//! The definition of a suite, and the macro that turns a list of names into tests.

use super::{Fresh, fresh::Needs};
use std::{
    io::{self, Write as _},
    pin::Pin,
};

/// One promise of a port, as an executable check.
pub struct Behaviour<P: ?Sized> {
    /// The promise, as an identifier.
    pub name: &'static str,
    /// The hook of the adapter's author that the check needs to observe anything.
    pub needs: Option<Needs>,
    /// Checks it on a fresh adapter. Panics if the adapter breaks the promise.
    pub check: Check<P>,
}

/// A pointer to an async function over a borrowed adapter.
type Check<P> = for<'a> fn(&'a Fresh<P>) -> Pin<Box<dyn Future<Output = ()> + 'a>>;

/// Checks the named behaviour on the adapter, with enough threads for writers to interfere.
///
/// # Panics
/// If the adapter violates the behaviour, or the suite has no such behaviour.
pub fn run<P: ?Sized>(suite: &[Behaviour<P>], name: &str, fresh: impl Future<Output = Fresh<P>>) {
    let behaviour = suite.iter().find(|behaviour| behaviour.name == name).unwrap();
    block_on(async {
        let fresh = fresh.await;
        (behaviour.check)(&fresh).await;
        let undeclared = fresh.missed().filter(|missed| Some(*missed) != behaviour.needs);
        assert_eq!(undeclared, None, "the suite says what {name} needs");
    });
}

/// Prints in one line which behaviours observe nothing on this adapter. `cargo test` shows it without `--nocapture`.
pub fn tell_what_is_not_looked_at<P: ?Sized>(
    name: &str,
    suite: &[Behaviour<P>],
    fresh: impl Future<Output = Fresh<P>>,
) {
    let line = block_on(async { not_looked_at(name, suite, &fresh.await) });
    if let Some(line) = line {
        io::stderr().write_all(format!("{line}\n").as_bytes()).unwrap();
    }
}

/// Returns the behaviours that pass without observing anything, for want of a hook. `None` if there are none.
pub fn not_looked_at<P: ?Sized>(name: &str, suite: &[Behaviour<P>], fresh: &Fresh<P>) -> Option<String> {
    let blind = suite.iter().filter_map(|behaviour| {
        let needs = behaviour.needs.filter(|needs| !fresh.has(*needs))?;
        Some(format!("{} (no `.{needs}`)", behaviour.name))
    });
    let blind: Vec<_> = blind.collect();
    let (few, all) = (blind.len(), suite.len());
    (few > 0).then(|| format!("{name}: {few} of {all} behaviours did not look: {}", blind.join(", ")))
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap();
    runtime.block_on(work)
}

/// Declares a suite: the port, its behaviours, and the macro that generates one test per behaviour. Behaviours of a
/// submodule are in a group after its name. The dollar sign is a parameter, because a macro that generates a macro
/// cannot write it.
macro_rules! suite {
    (
        $(#[$doc:meta])*
        $macro:ident($dollar:tt): $module:ident, $port:ty;
        $($own:ident $(needs $own_needs:ident)?,)*
        $(@$part:ident { $($behaviour:ident $(needs $needs:ident)?,)+ })*
    ) => {
        /// The port under test.
        pub type Port = $port;

        /// The behaviours, in reading order.
        pub static SUITE: &[$crate::conformance::Behaviour<Port>] = &[
            $($crate::conformance::Behaviour {
                name: stringify!($own),
                needs: [$(Some($crate::conformance::Needs::$own_needs),)? None][0],
                check: |fresh| Box::pin($own(fresh)),
            },)*
            $($($crate::conformance::Behaviour {
                name: stringify!($behaviour),
                needs: [$(Some($crate::conformance::Needs::$needs),)? None][0],
                check: |fresh| Box::pin($part::$behaviour(fresh)),
            },)+)*
        ];

        $(#[$doc])*
        #[macro_export]
        macro_rules! $macro {
            ($dollar fresh:expr $dollar(,)?) => {
                async fn $module() -> $crate::conformance::Fresh<$crate::conformance::$module::Port> {
                    $dollar fresh
                }

                mod $module {
                    #[test]
                    fn behaviours_that_did_not_look() {
                        let suite = $crate::conformance::$module::SUITE;
                        let name = stringify!($module);
                        $crate::conformance::tell_what_is_not_looked_at(name, suite, super::$module());
                    }

                    $crate::behaviours! { $module: $($own)* $($($behaviour)+)* }
                }
            };
        }
    };
}

/// Generates one test for each of these behaviours of a suite.
#[doc(hidden)]
#[macro_export]
macro_rules! behaviours {
    ($module:ident: $($behaviour:ident)+) => {$(
        #[test]
        fn $behaviour() {
            let suite = $crate::conformance::$module::SUITE;
            $crate::conformance::run(suite, stringify!($behaviour), super::$module());
        }
    )+};
}
