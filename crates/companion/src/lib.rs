//! The Companion program: configuration, command line, and the place where adapters are chosen.
