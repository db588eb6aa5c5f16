//! End-to-end tests over the whole of Companion.
