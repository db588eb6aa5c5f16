//! The suites detect wrong adapters, and the use cases hold over in-memory adapters.

mod conformance;
mod use_cases;
