//! What the kit is for: the suites catch wrong adapters, and the use cases hold over adapters in memory.

mod conformance;
mod use_cases;
