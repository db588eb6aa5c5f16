//! Opening the file, with the settings of each use.

use super::{fault::means_busy, identity::FileIdentity, options::SqliteOptions, soundness::Soundness};
use crate::purpose::Purpose;
use companion_domain::port::Cause;
use diesel::{
    Connection, QueryResult, RunQueryDsl, SqliteConnection, connection::SimpleConnection, dsl::sql,
    sql_types::Text,
};
use std::{
    fmt::Write as _,
    ops::Deref,
    path::Path,
    thread,
    time::{Duration, Instant},
};

/// The size of a page of a new database, in bytes; an old one keeps its own. Whoever changes a row logs its page, so the
/// smaller the pages, the sooner a sync has changed rows all over a table; but the longer a first load takes.
const PAGE: u32 = 1024;
/// How long to wait for another connection that chooses the log.
const BETWEEN_TRIES: Duration = Duration::from_millis(5);
/// How many pages the write-ahead log has when a commit makes a checkpoint.
const CHECKPOINT_AFTER: u32 = 4000;
/// Room that the write-ahead log keeps between checkpoints, in bytes.
const LOG_KEPT: u32 = 64 << 20;

/// What a connection that reads keeps of the file, in kilobytes. After each commit of anyone else it forgets all of it, which takes
/// the longer the more room there is; and what is read often is in memory anyway.
const READER_CACHE: u32 = 256;

/// A database that is in use: its options, and the file that all of its connections are to.
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

    /// Reads every page of a database that was found damaged, on a connection that has none of them cached. Returns whether
    /// there was a doubt; an error means that it stays.
    pub(crate) fn prove(&self) -> Result<bool, String> {
        let Some(reason) = self.soundness.reason() else { return Ok(false) };
        let proven = self.connect(Purpose::Read).and_then(|mut connection| check_pages(&mut connection));
        proven.map_err(|_| reason)?;
        self.soundness.restore();
        Ok(true)
    }

    pub(crate) fn connect(&self, purpose: Purpose) -> Result<SqliteConnection, Cause> {
        let connected = self.identity.connect(|| {
            if matches!(purpose, Purpose::Read | Purpose::Export) {
                let mut connection = open(&self.path, self.read_patience)?;
                // Having read, it keeps the log open, and with it the log's identity.
                connection.batch_execute(&format!(
                    "PRAGMA cache_size = -{READER_CACHE}; PRAGMA query_only = ON; PRAGMA schema_version"
                ))?;
                return Ok(connection);
            }
            let mut connection = self.connect_durable()?;
            if purpose == Purpose::Bulk {
                // Its temporary tables are in a file of their own, so that filling them keeps nobody from writing.
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
    /// A connection that may write, and whose commits are on disk when they return.
    pub(crate) fn connect_durable(&self) -> Result<SqliteConnection, Cause> {
        let mut connection = open(&self.path, self.write_patience)?;
        connection.batch_execute(&choose_pages())?;
        let mode = self.choose_log(&mut connection)?;
        if mode != "wal" {
            return Err("the file system cannot hold a write-ahead log".into());
        }
        connection.batch_execute(&format!(
            "PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON;
             PRAGMA journal_size_limit = {LOG_KEPT}"
        ))?;
        Ok(connection)
    }

    /// Chooses the write-ahead log, and returns what the file has then. SQLite does not wait for another connection that
    /// chooses it at the same moment, as when several processes open a new file.
    fn choose_log(&self, connection: &mut SqliteConnection) -> QueryResult<String> {
        let begun = Instant::now();
        loop {
            match sql::<Text>("PRAGMA journal_mode = WAL").get_result(connection) {
                Err(error) if means_busy(&error.to_string()) && begun.elapsed() < self.write_patience => {
                    thread::sleep(BETWEEN_TRIES);
                }
                chosen => return chosen,
            }
        }
    }
}

/// The statement that gives a database, or a copy that is about to be made of one, pages of our size.
pub(super) fn choose_pages() -> String {
    format!("PRAGMA page_size = {PAGE}")
}

/// Sets whether commits on this connection make checkpoints.
pub(crate) fn set_auto_checkpoint(connection: &mut SqliteConnection, on: bool) -> QueryResult<()> {
    let after = if on { CHECKPOINT_AFTER } else { 0 };
    connection.batch_execute(&format!("PRAGMA wal_autocheckpoint = {after}"))
}

/// Moves what was written from the log into the database, while others go on. What this one cannot move the next one does.
pub(crate) fn checkpoint(connection: &mut SqliteConnection) {
    let _ = connection.batch_execute("PRAGMA wal_checkpoint(PASSIVE)");
}

/// The same for all of the log, which is then emptied. One that stays is replayed by the next start, so a failure costs
/// nothing.
pub(crate) fn empty_log(connection: &mut SqliteConnection) {
    let _ = connection.batch_execute("PRAGMA wal_checkpoint(TRUNCATE)");
}

/// Reads every page once.
pub(super) fn check_pages(connection: &mut SqliteConnection) -> Result<(), Cause> {
    let found: Vec<String> = sql::<Text>("PRAGMA quick_check(1)").load(connection)?;
    match found.first() {
        Some(found) if found != "ok" => Err(format!("malformed: {found}").into()),
        _ => Ok(()),
    }
}

/// How a file is opened. Whoever may create it does so beforehand.
#[derive(Debug, Clone, Copy)]
pub(super) enum Opening {
    /// To read and write.
    Usual,
    /// Only to read, while others have it open: their log and its index are read, and not written.
    BesideOthers,
    /// Only to read, while nobody has it open. No log is looked for, or made.
    Unchanging,
}

impl Opening {
    const fn options(self) -> &'static str {
        match self {
            Self::Usual => "?mode=rw",
            Self::BesideOthers => "?mode=ro&readonly_shm=1",
            Self::Unchanging => "?mode=ro&immutable=1",
        }
    }
}

/// Opens a file that exists already, to read and write.
pub(crate) fn open(path: &Path, patience: Duration) -> Result<SqliteConnection, Cause> {
    open_as(path, patience, Opening::Usual)
}

pub(super) fn open_as(path: &Path, patience: Duration, opening: Opening) -> Result<SqliteConnection, Cause> {
    let mut connection = SqliteConnection::establish(&(address(path) + opening.options()))?;
    connection.batch_execute(&format!(
        "PRAGMA busy_timeout = {}; PRAGMA foreign_keys = ON",
        patience.as_millis()
    ))?;
    Ok(connection)
}

/// The file as a URI, which is how SQLite is told not to create it.
fn address(path: &Path) -> String {
    let mut address = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || b"/._-~".contains(byte) {
            address.push(char::from(*byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(address, "%{byte:02X}");
        }
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_the_file_whatever_it_is_called() {
        assert_eq!(address(Path::new("/data/my bot?.db")), "file:/data/my%20bot%3F.db");
        assert_eq!(address(Path::new("ü.db")), "file:%C3%BC.db");
    }
}
