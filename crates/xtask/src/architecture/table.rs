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

pub(super) struct Row {
    pub(super) name: &'static str,
    /// Workspace crates that it may depend on.
    pub(super) may_use: &'static [&'static str],
    /// Whether it is part of the published program.
    pub(super) production: bool,
}

pub(super) const CRATES: &[Row] = &[
    production(DOMAIN, &[]),
    production(STORAGE_MEMORY, &[DOMAIN]),
    production(STORAGE_DIESEL, &[DOMAIN]),
    production(IDENTITY_OAUTH2, &[DOMAIN]),
    production(CACHE, &[DOMAIN]),
    production(RECORDS, &[DOMAIN]),
    production(HTTP, &[DOMAIN]),
    production(MANAGEMENT, &[DOMAIN, RECORDS, HTTP]),
    production(DASHBOARD, &[DOMAIN, HTTP]),
    production(DEV_IDENTITY, &[]),
    production(
        COMPANION,
        &[
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
        ],
    ),
    support(TESTKIT, &[DOMAIN, STORAGE_MEMORY, HTTP, MANAGEMENT]),
    support(
        TESTS,
        &[
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
            COMPANION,
            TESTKIT,
        ],
    ),
    support(XTASK, &[]),
];

/// Crates that the tests of every crate may use: adapters are tested with the test kit, or against a real provider.
pub(super) const TESTS_MAY_USE: &[&str] = &[TESTKIT, STORAGE_MEMORY, HTTP, MANAGEMENT, DOMAIN, DEV_IDENTITY];

/// Crates whose tests may use what xtask offers: a PostgreSQL server, a folder in memory, the names of browsers.
pub(super) const TESTS_MAY_USE_XTASK: &[&str] = &[STORAGE_DIESEL, COMPANION, TESTS];

/// The adapters, which no API may reach.
pub(super) const ADAPTERS: &[&str] = &[STORAGE_MEMORY, STORAGE_DIESEL, IDENTITY_OAUTH2, CACHE, DEV_IDENTITY];

/// Crates that access files, sockets, databases or a runtime; all other I/O crates depend on one of them.
pub(super) const IO_CRATES: &[&str] = &[
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

const fn production(name: &'static str, may_use: &'static [&'static str]) -> Row {
    Row { name, may_use, production: true }
}

const fn support(name: &'static str, may_use: &'static [&'static str]) -> Row {
    Row { name, may_use, production: false }
}
