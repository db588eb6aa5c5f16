//! The definition of a suite, and the macro that turns a list of names into tests.

use super::Fresh;
use std::{
    io::{self, Write as _},
    pin::Pin,
};

/// One promise of a port, as an executable check.
pub struct Behaviour<P: ?Sized> {
    /// The promise, as an identifier.
    pub name: &'static str,
    /// Checks it on a fresh adapter. Panics if the adapter breaks the promise.
    pub check: Check<P>,
}

/// A pointer to an async function over a borrowed adapter.
type Check<P> = for<'a> fn(&'a Fresh<P>) -> Pin<Box<dyn Future<Output = ()> + 'a>>;

/// Checks the named behaviour on the adapter, with enough threads for writers to interfere. Prints a line if it observes
/// nothing for want of a hook; `cargo test` shows the line without `--nocapture`.
///
/// # Panics
/// If the adapter violates the behaviour, or the suite has no such behaviour.
pub fn run<P: ?Sized>(suite: &[Behaviour<P>], name: &str, fresh: impl Future<Output = Fresh<P>>) {
    let behaviour = suite.iter().find(|behaviour| behaviour.name == name).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap();
    let missed = runtime.block_on(async {
        let fresh = fresh.await;
        (behaviour.check)(&fresh).await;
        fresh.missed()
    });
    if let Some(hook) = missed {
        io::stderr().write_all(format!("{name} did not look (no `.{hook}`)\n").as_bytes()).unwrap();
    }
}

/// Declares a suite: the port, its behaviours, and the macro that generates one test per behaviour. Behaviours of a
/// submodule are in a group after its name. The dollar sign is a parameter, because a macro that generates a macro
/// cannot write it.
macro_rules! suite {
    (
        $(#[$doc:meta])*
        $macro:ident($dollar:tt): $module:ident, $port:ty;
        $($own:ident,)*
        $(@$part:ident { $($behaviour:ident,)+ })*
    ) => {
        /// The port under test.
        pub type Port = $port;

        /// The behaviours, in reading order.
        pub static SUITE: &[$crate::conformance::Behaviour<Port>] = &[
            $($crate::conformance::Behaviour {
                name: stringify!($own),
                check: |fresh| Box::pin($own(fresh)),
            },)*
            $($($crate::conformance::Behaviour {
                name: stringify!($behaviour),
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
