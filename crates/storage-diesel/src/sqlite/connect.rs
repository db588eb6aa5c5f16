//! Opens the file, with settings by purpose.

use super::{fault::means_busy, identity::FileIdentity, options::SqliteOptions, soundness::Soundness};
use crate::limits::Purpose;
use companion_domain::port::Cause;
use diesel::{
    Connection, QueryResult, RunQueryDsl, SqliteConnection, connection::SimpleConnection, dsl::sql,
    sql_types::Text,
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use std::{
    ops::Deref,
    path::Path,
    thread,
    time::{Duration, Instant},
};

/// Page size of a new database, in bytes; an existing one keeps its own. A changed row logs its whole page. Smaller
/// pages make a sync that updates scattered rows faster, and a first load slower.
const PAGE_BYTES: u32 = 1024;
/// Delay between attempts to enable the write-ahead log while another connection does the same.
const RETRY_DELAY: Duration = Duration::from_millis(5);
/// Number of pages in the write-ahead log after which a commit runs a checkpoint.
const CHECKPOINT_PAGES: u32 = 4000;
/// Size that the write-ahead log keeps between checkpoints, in bytes.
const LOG_SIZE_LIMIT: u32 = 64 << 20;

/// Page cache of a reading connection, in kilobytes. A commit of any other connection invalidates all of it, which
/// takes longer the larger it is. Hot pages are in the operating system's cache anyway.
const READER_CACHE_KIB: u32 = 256;

/// An open database: its options, and the identity of the file that all connections use.
#[derive(Debug)]
pub(crate) struct SqliteDatabase {
    options: SqliteOptions,
    pub(crate) identity: FileIdentity,
    pub(crate) soundness: Soundness,
}

impl SqliteDatabase {
    pub(crate) fn new(options: SqliteOptions) -> Self {
        Self { identity: FileIdentity::new(options.path.clone()), soundness: Soundness::default(), options }
    }

    /// Reads every page of a database that was found damaged, on a connection with an empty cache. Returns whether a
    /// check was necessary; `Err` means that the damage remains.
    pub(crate) fn verify(&self) -> Result<bool, String> {
        let Some(reason) = self.soundness.reason() else { return Ok(false) };
        let proven = self.connect(Purpose::Read).and_then(|mut connection| check_pages(&mut connection));
        proven.map_err(|_| reason)?;
        self.soundness.restore();
        Ok(true)
    }

    pub(crate) fn connect(&self, purpose: Purpose) -> Result<SqliteConnection, Cause> {
        let connected = self.identity.connect(|| {
            if matches!(purpose, Purpose::Read | Purpose::Export) {
                let mut connection = open(&self.path, self.limits.max_read_wait)?;
                // A connection that has read keeps the log open, and thereby the identity of the log.
                connection.batch_execute(&format!(
                    "PRAGMA cache_size = -{READER_CACHE_KIB}; PRAGMA query_only = ON; PRAGMA schema_version"
                ))?;
                return Ok(connection);
            }
            let mut connection = self.connect_durable()?;
            if purpose == Purpose::Bulk {
                // Temporary tables go to a separate file, so filling them does not block writers.
                connection.batch_execute("PRAGMA temp_store = FILE")?;
                set_auto_checkpoint(&mut connection, false)?;
            }
            connection.batch_execute(&self.writer_setup)?;
            Ok(connection)
        });
        connected.inspect_err(|cause| {
            self.soundness.note_failure(&cause.to_string());
        })
    }
}

impl Deref for SqliteDatabase {
    type Target = SqliteOptions;

    fn deref(&self) -> &SqliteOptions {
        &self.options
    }
}

impl SqliteOptions {
    /// Opens a connection for writing, whose commits are durable when they return.
    pub(crate) fn connect_durable(&self) -> Result<SqliteConnection, Cause> {
        let mut connection = open(&self.path, self.limits.max_write_wait)?;
        connection.batch_execute(&set_page_size())?;
        let mode = self.enable_wal(&mut connection)?;
        if mode != "wal" {
            return Err("the file system cannot hold a write-ahead log".into());
        }
        connection.batch_execute(&format!(
            "PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON;
             PRAGMA journal_size_limit = {LOG_SIZE_LIMIT}"
        ))?;
        Ok(connection)
    }

    /// Enables the write-ahead log, and returns the resulting journal mode. Retries, because SQLite does not wait for
    /// another connection that does the same, for example when several processes open a new file.
    fn enable_wal(&self, connection: &mut SqliteConnection) -> QueryResult<String> {
        let begun = Instant::now();
        loop {
            match sql::<Text>("PRAGMA journal_mode = WAL").get_result(connection) {
                Err(error)
                    if means_busy(&error.to_string()) && begun.elapsed() < self.limits.max_write_wait =>
                {
                    thread::sleep(RETRY_DELAY);
                }
                chosen => return chosen,
            }
        }
    }
}

/// Returns the statement that sets the page size of a new database or copy.
pub(super) fn set_page_size() -> String {
    format!("PRAGMA page_size = {PAGE_BYTES}")
}

/// Sets whether commits on this connection run checkpoints.
pub(crate) fn set_auto_checkpoint(connection: &mut SqliteConnection, on: bool) -> QueryResult<()> {
    let after = if on { CHECKPOINT_PAGES } else { 0 };
    connection.batch_execute(&format!("PRAGMA wal_autocheckpoint = {after}"))
}

/// Reads and checks every page.
pub(crate) fn check_pages(connection: &mut SqliteConnection) -> Result<(), Cause> {
    let found: Vec<String> = sql::<Text>("PRAGMA quick_check(1)").load(connection)?;
    match found.first() {
        Some(found) if found != "ok" => Err(format!("malformed: {found}").into()),
        _ => Ok(()),
    }
}

/// Opens a file for reading and writing. No mode creates the file.
const READ_WRITE: &str = "?mode=rw";
/// Opens a file read only, while other processes have it open. Their log and its index are read, not written.
pub(super) const READ_ONLY: &str = "?mode=ro&readonly_shm=1";
/// Opens a file read only, while no other process has it open. No log is read or created.
pub(super) const IMMUTABLE: &str = "?mode=ro&immutable=1";

/// Opens an existing file for reading and writing.
pub(crate) fn open(path: &Path, busy_timeout: Duration) -> Result<SqliteConnection, Cause> {
    open_as(path, busy_timeout, READ_WRITE)
}

pub(super) fn open_as(path: &Path, busy_timeout: Duration, mode: &str) -> Result<SqliteConnection, Cause> {
    let mut connection = SqliteConnection::establish(&(address(path) + mode))?;
    connection.batch_execute(&format!(
        "PRAGMA busy_timeout = {}; PRAGMA foreign_keys = ON",
        busy_timeout.as_millis()
    ))?;
    Ok(connection)
}

/// Returns the path as a URI, because only a URI can tell SQLite not to create the file.
fn address(path: &Path) -> String {
    const ESCAPED: &AsciiSet =
        &NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'_').remove(b'-').remove(b'~');
    format!("file:{}", percent_encode(path.as_os_str().as_encoded_bytes(), ESCAPED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_the_path_in_the_uri() {
        assert_eq!(address(Path::new("/data/my bot?.db")), "file:/data/my%20bot%3F.db");
        assert_eq!(address(Path::new("ü.db")), "file:%C3%BC.db");
    }

    #[test]
    fn sqlite_is_compiled_without_a_mutex_per_connection() {
        let mut connection = SqliteConnection::establish(":memory:").unwrap();
        let options: Vec<String> = sql::<Text>("PRAGMA compile_options").load(&mut connection).unwrap();
        for option in ["THREADSAFE=2", "DEFAULT_MEMSTATUS=0", "OMIT_SHARED_CACHE"] {
            assert!(options.iter().any(|known| known == option), "not {option}: see .cargo/config.toml");
        }
    }
}
