//! Conformance suites for every port of Companion, and what tests need to hold time and chance in their hands.
