//! The workspace crates, and the dependencies that each may have.

pub(super) const DOMAIN: &str = "companion-domain";
pub(super) const STORAGE_MEMORY: &str = "companion-storage-memory";
pub(super) const STORAGE_DIESEL: &str = "companion-storage-diesel";
pub(super) const IDENTITY_OAUTH2: &str = "companion-identity-oauth2";
pub(super) const CACHE: &str = "companion-cache";
pub(super) const RECORDS: &str = "companion-records";
pub(super) const HTTP: &str = "companion-http";
pub(super) const MANAGEMENT: &str = "companion-management";
pub(super) const DASHBOARD: &str = "companion-dashboard";
pub(super) const DEV_IDENTITY: &str = "companion-dev-identity";
pub(super) const TESTKIT: &str = "companion-testkit";
pub(super) const COMPANION: &str = "companion";
pub(super) const TESTS: &str = "companion-tests";
pub(super) const XTASK: &str = "xtask";

/// The crates that the published program consists of.
const PARTS: &[&str] = &[
    DOMAIN,
    STORAGE_MEMORY,
    STORAGE_DIESEL,
    IDENTITY_OAUTH2,
    CACHE,
    RECORDS,
    HTTP,
    MANAGEMENT,
    DASHBOARD,
    DEV_IDENTITY,
];

/// Whether a crate is part of the published program.
pub(super) fn is_production(name: &str) -> bool {
    name == COMPANION || PARTS.contains(&name)
}

/// All workspace crates, each with sets of the ones that it may depend on.
pub(super) const CRATES: [(&str, &[&[&str]]); 14] = [
    (DOMAIN, &[]),
    (STORAGE_MEMORY, &[&[DOMAIN]]),
    (STORAGE_DIESEL, &[&[DOMAIN]]),
    (IDENTITY_OAUTH2, &[&[DOMAIN]]),
    (CACHE, &[&[DOMAIN]]),
    (RECORDS, &[&[DOMAIN]]),
    (HTTP, &[&[DOMAIN]]),
    (MANAGEMENT, &[&[DOMAIN, RECORDS, HTTP]]),
    (DASHBOARD, &[&[DOMAIN, HTTP]]),
    (DEV_IDENTITY, &[]),
    (COMPANION, &[PARTS]),
    (TESTKIT, &[&[DOMAIN, STORAGE_MEMORY, HTTP, MANAGEMENT]]),
    (TESTS, &[PARTS, &[COMPANION, TESTKIT]]),
    (XTASK, &[]),
];

/// Crates that the tests of every crate may use: adapters are tested with the test kit, or against a real provider.
pub(super) const TESTS_MAY_USE: &[&str] = &[TESTKIT, STORAGE_MEMORY, HTTP, MANAGEMENT, DOMAIN, DEV_IDENTITY];

/// Crates whose tests may use what xtask offers: a PostgreSQL server, a folder in memory, the names of browsers.
pub(super) const TESTS_MAY_USE_XTASK: &[&str] = &[STORAGE_DIESEL, COMPANION, TESTS];

/// Crates that must not reach certain others, even indirectly.
pub(super) struct Isolated {
    pub(super) names: &'static [&'static str],
    pub(super) from: &'static [&'static str],
    pub(super) rule: &'static str,
    pub(super) fix: &'static str,
}

pub(super) const ISOLATED: [Isolated; 2] = [
    Isolated {
        names: &[DOMAIN, RECORDS],
        from: IO_CRATES,
        rule: "the domain and the records reach no I/O crate, however indirectly",
        fix: "define a port in the domain and do the I/O in an adapter, or switch off the feature that brings it",
    },
    Isolated {
        names: &[HTTP, MANAGEMENT, DASHBOARD],
        from: &[STORAGE_MEMORY, STORAGE_DIESEL, IDENTITY_OAUTH2, CACHE, DEV_IDENTITY],
        rule: "no API ever sees an adapter, however indirectly",
        fix: "ask for the port as `Arc<dyn _>`; only the composition root knows which adapter is behind it",
    },
];

/// Crates that access files, sockets, databases or a runtime; all other I/O crates depend on one of them.
const IO_CRATES: &[&str] = &[
    "async-io",
    "cap-std",
    "curl-sys",
    "diesel",
    "fs-err",
    "libsqlite3-sys",
    "memmap2",
    "mio",
    "native-tls",
    "notify",
    "openssl-sys",
    "polling",
    "postgres",
    "pq-sys",
    "r2d2",
    "rustls",
    "socket2",
    "tempfile",
    "tokio",
    "tungstenite",
    "ureq",
    "walkdir",
];

/// Libraries that only certain production crates may use directly.
pub(super) const CONFINED: &[(&[&str], &[&str])] = &[
    (&["diesel", "diesel_migrations", "r2d2"], &[STORAGE_DIESEL]),
    (&["actix-web"], &[HTTP, MANAGEMENT, DASHBOARD, DEV_IDENTITY, COMPANION]),
    (&["reqwest"], &[IDENTITY_OAUTH2, COMPANION]),
];
