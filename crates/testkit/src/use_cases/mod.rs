//! Every use case over ports that can be exchanged one by one.
//!
//! ```
//! use companion_testkit::use_cases::{InMemory, Settings, UseCases};
//!
//! let memory = InMemory::new();
//! let use_cases: UseCases = memory.ports.use_cases(Settings { keep_tokens: false, ..Settings::default() });
//! ```

mod in_memory;
mod ports;
mod settings;

pub(crate) use self::in_memory::REDIRECT;
pub use self::{
    in_memory::InMemory,
    ports::{Ports, UseCases},
    settings::Settings,
};
