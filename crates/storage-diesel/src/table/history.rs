//! The history of changes, and the write handle that records them.

use super::{
    column::MAX_VALUES,
    row::{ChangeRow, Columns as _, Identity, Insert, Sql, Statement, Value},
    unreadable::Unreadable,
};
use crate::{
    connection::AnyConnection,
    failure::{RowError, WorkError},
    revision::{TIMELINE, Timeline},
    schema::{changes, history},
};
use companion_domain::change::{Applied, Change, Changes, Journal, Kind, Revision, Subject, Tally};
use diesel::{
    BoolExpressionMethods, ExpressionMethods, QueryDsl, QueryResult, RunQueryDsl,
    result::Error as DatabaseError,
    sql_types::{BigInt, Nullable},
};
use std::{collections::BTreeSet, sync::LazyLock};

const ALL_OF_KIND: &str = "*";

/// Assigns revisions to changes. They are gap-free and committed in order: SQLite's write lock serialises all writers, on
/// PostgreSQL the lock of the history's row does, which this takes if the transaction does not hold it yet.
pub(crate) fn append(
    db: &mut AnyConnection,
    subjects: &[Subject],
    remembered: u64,
) -> Result<Revision, WorkError> {
    let count = i64::try_from(subjects.len()).unwrap_or(i64::MAX);
    let (latest, timeline) = advance(db, count)?;
    let rows = (latest - count + 1..).zip(subjects).map(ChangeRow::of);
    insert(db, rows.collect())?;
    trim(db, latest, count, remembered)?;
    Ok(timeline.revision(to_number(latest)?))
}

fn insert(db: &mut AnyConnection, rows: Vec<ChangeRow>) -> QueryResult<()> {
    if let AnyConnection::Postgres(db) = db
        && rows.len() > 1
    {
        // All other writers wait meanwhile, and each statement is a round trip to the server.
        let into = diesel::insert_into(changes::table);
        return rows.chunks(MAX_VALUES).try_for_each(|some| into.values(some).execute(db).map(drop));
    }
    let insert = &ChangeRow::TABLE.statements.insert;
    rows.into_iter()
        .try_for_each(|row| insert.execute::<(ChangeRow, Insert)>(&row.into_values(), db).map(drop))
}

/// Reserves numbers for `count` changes. Returns the last number and the timeline. The write lock of SQLite keeps
/// them free until the changes are inserted.
fn advance(db: &mut AnyConnection, count: i64) -> Result<(i64, Timeline), WorkError> {
    if let AnyConnection::Postgres(_) = db {
        return position_of::<Advance>(db, &POSTGRES_ADVANCE, &[count.into()]);
    }
    let (latest, timeline) = position(db)?;
    Ok((latest.saturating_add(count), timeline))
}

/// Removes changes beyond the number to keep, once per 64th of that number. The newest stays: SQLite counts from it.
fn trim(db: &mut AnyConnection, latest: i64, count: i64, remembered: u64) -> Result<(), WorkError> {
    let remembered = i64::try_from(remembered).unwrap_or(i64::MAX).max(1);
    let stride = (remembered / 64).max(1);
    if latest / stride != (latest - count) / stride {
        let forgotten = latest.saturating_sub(remembered);
        diesel::delete(changes::table.filter(changes::revision.le(forgotten))).execute(db)?;
    }
    Ok(())
}

/// Returns the newest revision. Returns an error on a standby.
pub(crate) fn latest(db: &mut AnyConnection) -> Result<Revision, WorkError> {
    let (latest, timeline) = position(db)?;
    Ok(timeline.revision(to_number(latest)?))
}

struct Advance;
struct Position;

impl Identity for Advance {}
impl Identity for Position {}

static POSTGRES_ADVANCE: LazyLock<Sql> = LazyLock::new(|| {
    Sql::new(&format!("UPDATE history SET revision = revision + ? RETURNING revision, {TIMELINE}"))
});
/// There is no failover, so there is one timeline.
static SQLITE_POSITION: LazyLock<Sql> =
    LazyLock::new(|| Sql::new("SELECT coalesce(max(revision), 0), 1 FROM changes"));
/// The timeline is NULL on a standby.
static POSTGRES_POSITION: LazyLock<Sql> =
    LazyLock::new(|| Sql::new(&format!("SELECT revision, {TIMELINE} FROM history")));

/// Returns the newest change number and its timeline, read by one statement.
fn position(db: &mut AnyConnection) -> Result<(i64, Timeline), WorkError> {
    let select = match db {
        AnyConnection::Sqlite(_) => &SQLITE_POSITION,
        AnyConnection::Postgres(_) => &POSTGRES_POSITION,
    };
    position_of::<Position>(db, select, &[])
}

fn position_of<I: Identity>(
    db: &mut AnyConnection,
    sql: &Sql,
    values: &[Value],
) -> Result<(i64, Timeline), WorkError> {
    let row = Statement::<(BigInt, Nullable<BigInt>), I>::new(sql, values).rows(db)?.pop();
    let (number, timeline): (i64, Option<i64>) = row.ok_or(DatabaseError::NotFound)?;
    Ok((number, timeline.map(Timeline::of_server).ok_or(WorkError::Standby)?))
}

/// The number of a change in the history. It carries no timeline, because a connection that has written stays on one.
pub(crate) type ChangeNumber = i64;

/// Returns the newest change number. It is only comparable on the same connection.
pub(crate) fn newest(db: &mut AnyConnection) -> Result<ChangeNumber, WorkError> {
    Ok(position(db)?.0)
}

/// Returns the offset of grant versions from revisions.
pub(crate) fn grant_offset(db: &mut AnyConnection) -> QueryResult<i64> {
    history::table.select(history::grant_offset).get_result(db)
}

/// Ensures that later versions are higher than this one.
pub(super) fn raise_grant_offset(db: &mut AnyConnection, version: i64) -> Result<(), WorkError> {
    let least = version.saturating_sub(newest(db)?);
    let below = history::table.filter(history::grant_offset.lt(least));
    diesel::update(below).set(history::grant_offset.eq(least)).execute(db)?;
    Ok(())
}

/// Returns the changes after a revision. Must run in one snapshot.
pub(crate) fn since(
    db: &mut AnyConnection,
    revision: Revision,
    unreadable: &Unreadable,
) -> Result<Changes, WorkError> {
    let (newest, timeline) = position(db)?;
    let newest = to_number(newest)?;
    let latest = timeline.revision(newest);
    let number = timeline.number(revision);
    let Some((number, wanted)) = number.and_then(|number| Some((number, newest.checked_sub(number)?))) else {
        return Ok(Changes::Gap(latest));
    };
    let after = i64::try_from(number).unwrap_or(i64::MAX);
    let rows = ChangeRow::select(db, "WHERE revision > ? ORDER BY revision", vec![after.into()])?;
    // Revisions are gap-free, so fewer rows mean that some were trimmed.
    if rows.len() as u64 != wanted {
        return Ok(Changes::Gap(latest));
    }
    let mut listed = Vec::with_capacity(rows.len());
    for row in rows {
        match row.subject(unreadable) {
            Some(subject) => {
                listed.push(Change { revision: timeline.revision(to_number(row.revision)?), subject });
            }
            // An unreadable change may concern anything.
            None => return Ok(Changes::Gap(latest)),
        }
    }
    Ok(Changes::Listed(listed))
}

/// Returns the subjects of changes of these kinds after `after`, or `None` if the history was trimmed since. Other
/// writers may record changes of other kinds meanwhile.
pub(crate) fn concerning(
    db: &mut AnyConnection,
    after: ChangeNumber,
    kinds: &BTreeSet<Kind>,
) -> Result<Option<Vec<Subject>>, WorkError> {
    let next = after.saturating_add(1);
    let names: Vec<_> = kinds.iter().copied().map(Kind::stored).collect();
    // The oldest changes are trimmed first, so if the next one exists, all later ones do.
    let rows: Vec<ChangeRow> = changes::table
        .filter(changes::revision.gt(after))
        .filter(changes::kind.eq_any(names).or(changes::revision.eq(next)))
        .order(changes::revision)
        .load(db)?;
    match rows.first() {
        Some(first) if first.revision == next => {}
        None if newest(db)? == after => {}
        _ => return Ok(None),
    }
    let mut subjects = Vec::new();
    for row in rows {
        match from_text(&row.kind, &row.subject).or_else(|| from_text(&row.kind, ALL_OF_KIND)) {
            Some(subject) if kinds.contains(&subject.kind()) => subjects.push(subject),
            Some(_) => {}
            // An unreadable change may concern anything.
            None => return Ok(None),
        }
    }
    Ok(Some(subjects))
}

impl ChangeRow {
    fn of((revision, subject): (i64, &Subject)) -> Self {
        let parts: Vec<_> = subject.parts().into_iter().map(|(_, part)| part.to_string()).collect();
        let text = if parts.is_empty() { ALL_OF_KIND.to_owned() } else { parts.join(" ") };
        Self { revision, kind: subject.kind().stored().to_owned(), subject: text }
    }

    /// Returns the subject of the change: the whole kind if only that is readable, `None` if not even that is.
    fn subject(&self, unreadable: &Unreadable) -> Option<Subject> {
        let read = from_text(&self.kind, &self.subject)
            .ok_or(RowError { table: ChangeRow::TABLE.name, column: "subject" });
        unreadable.accept(|| self.key(), read).or_else(|| from_text(&self.kind, ALL_OF_KIND))
    }
}

fn to_number(column: i64) -> Result<u64, WorkError> {
    u64::try_from(column).map_err(|_| RowError { table: ChangeRow::TABLE.name, column: "revision" }.into())
}

fn from_text(kind: &str, text: &str) -> Option<Subject> {
    let kind = Kind::ALL.into_iter().find(|known| known.stored() == kind)?;
    if text == ALL_OF_KIND { Some(Subject::Many(kind)) } else { Subject::parse(kind, text.split(' ')) }
}

/// The database as seen by one job, and the changes that the job notes.
pub(crate) struct Write<'a> {
    /// The connection, in a transaction or savepoint of this job.
    pub(crate) db: &'a mut AnyConnection,
    pub(crate) unreadable: &'a Unreadable,
    journal: Journal,
    latest: Option<Revision>,
    remembered: u64,
}

impl<'a> Write<'a> {
    pub(crate) fn new(db: &'a mut AnyConnection, unreadable: &'a Unreadable, remembered: u64) -> Self {
        Self { db, unreadable, journal: Journal::default(), latest: None, remembered }
    }

    /// Notes that the subject may have changed.
    pub(crate) fn note(&mut self, subject: Subject) {
        self.journal.note(subject);
    }

    /// Notes a change, unless the tally is empty. Returns the tally.
    pub(crate) fn noted(&mut self, tally: Tally, subject: impl FnOnce() -> Subject) -> Tally {
        self.journal.noted(tally, subject)
    }

    /// Records a change immediately, for a job that needs its revision.
    pub(crate) fn record(&mut self, subject: &Subject) -> Result<Revision, WorkError> {
        let (revision, _) = self.append(vec![subject.clone()])?;
        Ok(revision)
    }

    /// Records all noted changes, and returns them.
    pub(crate) fn record_noted(&mut self) -> Result<Vec<Change>, WorkError> {
        let subjects = std::mem::take(&mut self.journal).into_subjects();
        if subjects.is_empty() {
            return Ok(Vec::new());
        }
        Ok(self.append(subjects)?.1)
    }

    /// Records all noted changes, and returns them with the tally.
    pub(crate) fn applied(&mut self, tally: Tally) -> Result<Applied, WorkError> {
        Ok(Applied { tally, changes: self.record_noted()? })
    }

    fn append(&mut self, subjects: Vec<Subject>) -> Result<(Revision, Vec<Change>), WorkError> {
        let latest = append(self.db, &subjects, self.remembered)?;
        self.latest = Some(latest);
        let first = (latest.0 + 1).saturating_sub(subjects.len() as u64);
        let changes = (first..).map(Revision).zip(subjects);
        Ok((latest, changes.map(|(revision, subject)| Change { revision, subject }).collect()))
    }

    /// Returns the newest revision that the job has recorded.
    pub(crate) const fn latest(&self) -> Option<Revision> {
        self.latest
    }
}

/// Returns the tally of this many removed rows.
pub(crate) const fn removed(rows: usize) -> Tally {
    Tally { removed: rows as u64, ..Tally::NOTHING }
}
