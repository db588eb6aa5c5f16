//! What a suite is made of, and how a list of names becomes a list of tests.

use super::Fresh;
use std::pin::Pin;

/// One promise of a port, as something that can be checked.
pub struct Behaviour<P: ?Sized> {
    /// What is promised, in words with underscores.
    pub name: &'static str,
    /// Checks it on a fresh adapter. It panics where the adapter does not keep the promise.
    pub check: Check<P>,
}

/// An async function over a borrowed adapter, as a pointer.
type Check<P> = for<'a> fn(&'a Fresh<P>) -> Pin<Box<dyn Future<Output = ()> + 'a>>;

/// Checks the behaviour of this name on the adapter, with enough threads for writers to get in each other's way.
///
/// # Panics
/// Where the adapter does not behave so, or the suite has no such behaviour.
pub fn run<P: ?Sized>(suite: &[Behaviour<P>], name: &str, fresh: impl Future<Output = Fresh<P>>) {
    let behaviour = suite.iter().find(|behaviour| behaviour.name == name).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap();
    runtime.block_on(async { (behaviour.check)(&fresh.await).await });
}

/// Declares a suite: the port, its behaviours, and the macro that makes one test of each. The dollar sign is handed in
/// because a macro that writes a macro cannot spell it.
macro_rules! suite {
    (
        $(#[$doc:meta])*
        $macro:ident($dollar:tt): $module:ident, $port:ty;
        $($behaviour:ident,)+
    ) => {
        /// What the suite tests.
        pub type Port = $port;

        /// The behaviours, in the order in which they are best read.
        pub const SUITE: &[$crate::conformance::Behaviour<Port>] = &[$(
            $crate::conformance::Behaviour { name: stringify!($behaviour), check: |fresh| Box::pin($behaviour(fresh)) },
        )+];

        /// Their names.
        pub const NAMES: &[&str] = &[$(stringify!($behaviour)),+];

        $(#[$doc])*
        #[macro_export]
        macro_rules! $macro {
            ($dollar fresh:expr $dollar(,)?) => {
                async fn $module() -> $crate::conformance::Fresh<$crate::conformance::$module::Port> {
                    $dollar fresh
                }

                mod $module {
                    $(
                        #[test]
                        fn $behaviour() {
                            let suite = $crate::conformance::$module::SUITE;
                            $crate::conformance::run(suite, stringify!($behaviour), super::$module());
                        }
                    )+
                }
            };
        }
    };
}
