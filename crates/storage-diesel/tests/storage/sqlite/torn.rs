//! A power failure may preserve any part of the write-ahead log. The storage then opens with exactly the acknowledged
//! writes up to that point: complete, in order, and nothing else.
#![expect(
    clippy::indexing_slicing,
    reason = "the log was just written, and has the bytes that are asked for"
)]

use crate::{
    sample::{Collected, Stream, feedback, guild, member, session, sign_in, user},
    shared::Place,
    sqlite::folder::Folder,
};
use companion_domain::{
    change::{Key, Kind},
    model::{CodeFingerprint, GuildId, Timestamp},
    port::{BlockList, ChangeFeed, Health, Record, Records, Replace, SessionStore, SpentCodes},
};
use companion_storage_diesel::DieselStorage;
use diesel::{
    QueryableByName, RunQueryDsl, SqliteConnection,
    connection::SimpleConnection,
    sql_query,
    sql_types::{Nullable, Text},
};
use std::{collections::BTreeMap, fs, ops::Range, path::PathBuf};

/// With the value `full`, every frame gets every kind of damage. Otherwise the log is cut before every fourth frame, and
/// as many others get one kind of damage in turn.
const VARIABLE: &str = "DISK";
/// Maximum number of repetitions of all kinds of writes.
const ROUNDS: u64 = 4;
const LOG_HEADER: usize = 32;
const FRAME_HEADER: usize = 24;

#[derive(QueryableByName)]
struct Line {
    #[diesel(sql_type = Nullable<Text>)]
    line: Option<String>,
}

fn lines(connection: &mut SqliteConnection, query: String) -> Vec<String> {
    let lines: Vec<Line> = sql_query(query).load(connection).unwrap();
    lines.into_iter().map(|line| line.line.unwrap_or_default()).collect()
}

/// The stored rows, and what the storage returns for them.
#[derive(Debug, PartialEq, Eq)]
struct FileState {
    tables: BTreeMap<String, Vec<String>>,
    answers: String,
}

impl FileState {
    async fn of(folder: &Folder, storage: &DieselStorage) -> Self {
        let mut connection = folder.connection();
        assert_eq!(
            lines(
                &mut connection,
                "SELECT * FROM (SELECT integrity_check AS line FROM pragma_integrity_check)".to_owned()
            ),
            ["ok"]
        );
        let names =
            lines(&mut connection, "SELECT name AS line FROM sqlite_schema WHERE type = 'table'".to_owned());
        let mut rows = |table: String| {
            let columns = format!(
                "SELECT group_concat('quote(\"' || name || '\")', ' || '','' || ') AS line FROM pragma_table_info('{table}')"
            );
            let columns = lines(&mut connection, columns).concat();
            let rows =
                lines(&mut connection, format!("SELECT {columns} AS line FROM \"{table}\" ORDER BY 1"));
            (table, rows)
        };
        let tables = names.into_iter().map(&mut rows).collect();
        let mut exported = Collected::default();
        storage.export(&mut exported).await.unwrap();
        let mut sessions = Vec::new();
        for number in 1..=2 * ROUNDS {
            sessions.push(SessionStore::find(storage, &session(number).id).await.unwrap());
        }
        let answers = format!("{:?} {sessions:?} {:?}", exported.0, storage.latest().await.unwrap());
        Self { tables, answers }
    }
}

/// What a power failure leaves of a frame and its successors.
#[derive(Debug, Clone, Copy)]
enum Damage {
    /// The log ends this many bytes into the frame.
    Cut(usize),
    /// A bit is flipped this many bytes into the frame.
    Flipped(usize),
    /// The frame was not written, but its successors were.
    Hole,
    /// The frame holds the content of its predecessor.
    Repeated,
}

impl Damage {
    fn kinds(page: usize) -> Vec<Self> {
        let cuts = [1, 12, FRAME_HEADER, FRAME_HEADER + page / 2, FRAME_HEADER + page - 1];
        // The page number, the database size after a commit, both salts, both checksums, and the page.
        let flips = [3, 7, 11, 15, 19, 23, FRAME_HEADER, FRAME_HEADER + page / 2, FRAME_HEADER + page - 1];
        let rest = [Self::Hole, Self::Repeated];
        cuts.map(Self::Cut).into_iter().chain(flips.map(Self::Flipped)).chain(rest).collect()
    }

    fn done_to(self, log: &[u8], frame: Range<usize>) -> Vec<u8> {
        let mut log = log.to_vec();
        match self {
            Self::Cut(bytes) => log.truncate(frame.start + bytes),
            Self::Flipped(byte) => log[frame.start + byte] ^= 1,
            Self::Hole => log[frame].fill(0),
            Self::Repeated => {
                log.copy_within(frame.start.saturating_sub(frame.len())..frame.start, frame.start);
            }
        }
        log
    }
}

/// A database that was never closed, and its state after each write.
struct Recording {
    database: Vec<u8>,
    log: Vec<u8>,
    page: usize,
    /// The number of frames in the log, and the state at that point.
    acknowledged: Vec<(usize, FileState)>,
}

impl Recording {
    async fn make(rounds: u64) -> Self {
        let folder = Folder::new();
        folder.open().await.close().await;
        let storage = folder.open().await;
        // An open read transaction on the first snapshot prevents checkpoints.
        let mut reader = folder.connection();
        reader.batch_execute("BEGIN; SELECT count(*) FROM guilds").unwrap();
        let database = fs::read(folder.file()).unwrap();
        let mut recording = Self { database, log: Vec::new(), page: 0, acknowledged: Vec::new() };
        recording.note(&folder, &storage).await;
        for round in 0..rounds {
            for kind in 0.. {
                if !write(&storage, round, kind).await {
                    break;
                }
                recording.note(&folder, &storage).await;
            }
        }
        assert_eq!(fs::read(folder.file()).unwrap(), recording.database, "no checkpoint was made");
        drop(reader);
        recording
    }

    async fn note(&mut self, folder: &Folder, storage: &DieselStorage) {
        let log = fs::read(log_of(folder)).unwrap();
        assert!(log.starts_with(&self.log), "a log only grows");
        if let Some(size) = log.get(8..12) {
            self.page = u32::from_be_bytes(size.try_into().unwrap()).try_into().unwrap();
        }
        self.log = log;
        let state = FileState::of(folder, storage).await;
        assert!(
            self.acknowledged.last().is_none_or(|(_, before)| *before != state),
            "each write changes something"
        );
        self.acknowledged.push((self.frames(), state));
    }

    fn frames(&self) -> usize {
        self.log.len().saturating_sub(LOG_HEADER) / (FRAME_HEADER + self.page)
    }

    fn frame(&self, number: usize) -> Range<usize> {
        let length = FRAME_HEADER + self.page;
        let start = LOG_HEADER + number * length;
        start..start + length
    }

    /// Returns the database during a checkpoint of this frame, with half of the page copied.
    fn half_moved(&self, frame: usize) -> Vec<u8> {
        let frame = &self.log[self.frame(frame)];
        let number = u32::from_be_bytes(frame[..4].try_into().unwrap());
        let (start, half) = ((usize::try_from(number).unwrap() - 1) * self.page, self.page / 2);
        let mut database = self.database.clone();
        database.resize(database.len().max(start + half), 0);
        database[start..start + half].copy_from_slice(&frame[FRAME_HEADER..FRAME_HEADER + half]);
        database
    }

    /// Returns the acknowledged state at this number of frames.
    fn after(&self, frames: usize) -> &FileState {
        &self.acknowledged.iter().rfind(|(needed, _)| *needed <= frames).unwrap().1
    }

    /// Opens what the power failure left, and checks it.
    async fn opens(&self, case: &str, database: &[u8], log: &[u8], frames: usize) {
        let folder = Folder::new();
        fs::write(folder.file(), database).unwrap();
        fs::write(log_of(&folder), log).unwrap();
        let storage = folder.open().await;
        storage.check().await.unwrap();
        assert!(FileState::of(&folder, &storage).await == *self.after(frames), "{case}");
        storage.put(Record::Blocked(user(1_000_000))).await.unwrap();
        assert!(storage.is_blocked(user(1_000_000)).await.unwrap(), "{case}");
    }
}

fn log_of(folder: &Folder) -> PathBuf {
    folder.path().join("companion.db-wal")
}

/// Runs the write with this number. Returns `false` if there is none.
async fn write(storage: &DieselStorage, round: u64, kind: u64) -> bool {
    let first = 100 * (round + 1);
    match kind {
        0 => {
            storage.put(Record::Guild(guild(first))).await.unwrap();
        }
        1 => {
            sign_in(storage, 2 * round + 1).await.unwrap();
        }
        2 => {
            sign_in(storage, 2 * round + 2).await.unwrap();
        }
        3 => {
            storage.revoke(&session(2 * round + 1).id).await.unwrap();
        }
        4 => {
            let code = CodeFingerprint::from_bytes([u8::try_from(round).unwrap(); 32]);
            assert!(storage.spend(&code, Timestamp::EPOCH, Timestamp::EPOCH).await.unwrap());
        }
        // A single write of all guilds, which removes those of the previous sync.
        5 => {
            let guilds = (first..first + 60).map(|number| Record::Guild(guild(number)));
            let members = (first..first + 60).map(|number| Record::Member(member(number, 5)));
            let replace = Replace { kinds: [Kind::Guild, Kind::Member].into(), shard: None };
            storage.sync(&replace, &mut Stream::of(guilds.chain(members))).await.unwrap();
        }
        6 => {
            storage.put(Record::Blocked(user(first))).await.unwrap();
        }
        7 => {
            storage.put(Record::Feedback(feedback(&format!("f{round}"), 5))).await.unwrap();
        }
        8 => {
            Records::remove(storage, Key::Guild(GuildId::new(first).unwrap())).await.unwrap();
        }
        9 => {
            storage.forget(user(2 * round + 3)).await.unwrap();
        }
        _ => return false,
    }
    true
}

/// Which cases of a frame to try: all, or one in turn.
struct Choice {
    all: bool,
}

impl Choice {
    fn of<'a, T>(&self, kinds: &'a [T], frame: usize) -> &'a [T] {
        let turn = frame % kinds.len();
        if self.all { kinds } else { &kinds[turn..=turn] }
    }
}

#[tokio::test]
async fn a_torn_log_yields_complete_writes_in_order() {
    let choice = Choice { all: std::env::var(VARIABLE).is_ok_and(|value| value == "full") };
    let recording = Recording::make(if choice.all { ROUNDS } else { 1 }).await;
    let (frames, database, log) = (recording.frames(), &recording.database, &recording.log);
    let mut cases = 0;
    let mut opens = async |case: String, database: &[u8], log: &[u8], frames: usize| {
        recording.opens(&case, database, log, frames).await;
        cases += 1;
    };
    for frame in (0..=frames).filter(|frame| choice.all || frame % 4 == 0) {
        let case = format!("ends before frame {frame}");
        opens(case, database, &log[..recording.frame(frame).start], frame).await;
    }
    let kinds = Damage::kinds(recording.page);
    for frame in (0..frames).filter(|frame| choice.all || frame % 4 == 2) {
        for damage in choice.of(&kinds, frame / 4) {
            let damaged = damage.done_to(log, recording.frame(frame));
            opens(format!("frame {frame}: {damage:?}"), database, &damaged, frame).await;
        }
    }
    for byte in [0, 4, 8, 12, 16, 20, 24, 28] {
        // The header identifies the log; with a damaged header none of it is read.
        let flipped = Damage::Flipped(byte).done_to(log, 0..LOG_HEADER);
        opens(format!("header: byte {byte}"), database, &flipped, 0).await;
        if choice.all || byte % 8 == 4 {
            opens(format!("header ends after {byte}"), database, &log[..byte], 0).await;
        }
    }
    for frame in (0..frames).filter(|frame| choice.all || frame % 8 == 0) {
        opens(format!("frame {frame} is half moved"), &recording.half_moved(frame), log, frames).await;
    }
    println!(
        "{cases} torn logs of {frames} frames and {} writes: each opened with whole writes in their order",
        recording.acknowledged.len() - 1
    );
}
