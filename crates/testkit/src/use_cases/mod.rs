//! All use cases over ports that can be replaced one by one.
//!
//! ```
//! use companion_testkit::use_cases::{InMemory, Settings, UseCases, settings};
//!
//! let memory = InMemory::new();
//! let use_cases = UseCases::new(&memory.ports, Settings { keep_tokens: false, ..settings() });
//! ```

mod in_memory;
mod settings;

pub(crate) use self::in_memory::REDIRECT;
pub use self::{in_memory::InMemory, settings::settings};
pub use companion_domain::{
    port::{Ports, Stores},
    usecase::{Settings, UseCases},
};
