//! The history of changes, and what a job works with to make it.

use super::{
    column::AT_ONCE,
    row::{ChangeRow, Row},
    unreadable::Unreadable,
};
use crate::{
    connection::AnyConnection,
    failure::{Failure, RowError},
    schema::{changes, history},
    timeline::Timeline,
};
use companion_domain::change::{Change, Changes, Kind, Revision, Subject, Tally};
use diesel::{
    BoolExpressionMethods, ExpressionMethods, QueryDsl, QueryResult, RunQueryDsl,
    backend::Backend,
    query_builder::{AstPass, Query, QueryFragment, QueryId},
    serialize::ToSql,
    sql_types::{BigInt, HasSqlType},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    marker::PhantomData,
};

const ALL_OF_KIND: &str = "*";

/// Gives each change its revision. Every writer passes here, and passes one after the other, so that revisions have no
/// holes and are committed in their order.
pub(crate) fn append(
    db: &mut AnyConnection,
    subjects: &[Subject],
    remembered: u64,
) -> Result<Revision, Failure> {
    let count = i64::try_from(subjects.len()).unwrap_or(i64::MAX);
    let (latest, timeline) = advance(db, count)?;
    let rows = (latest - count + 1..).zip(subjects).map(|(revision, subject)| {
        let (kind, subject) = to_text(subject);
        ChangeRow { revision, kind: kind.to_owned(), subject }
    });
    insert(db, &rows.collect::<Vec<_>>())?;
    trim(db, latest, count, remembered)?;
    Ok(timeline.revision(to_number(latest)?))
}

fn insert(db: &mut AnyConnection, rows: &[ChangeRow]) -> QueryResult<()> {
    let into = diesel::insert_into(changes::table);
    if let [only] = rows {
        // Unlike that of several, this statement is prepared once.
        into.values(only).execute(db)?;
        return Ok(());
    }
    // Many at a time: everyone else who writes waits meanwhile, and a server is a round trip away.
    for some in rows.chunks(AT_ONCE) {
        match db {
            #[cfg(feature = "sqlite")]
            AnyConnection::Sqlite(db) => into.values(some).execute(db)?,
            #[cfg(feature = "postgres")]
            AnyConnection::Postgres(db) => into.values(some).execute(db)?,
        };
    }
    Ok(())
}

/// Makes room for so many changes. Returns the number of the last, and on which timeline they are.
fn advance(db: &mut AnyConnection, count: i64) -> Result<(i64, Timeline), Failure> {
    match db {
        #[cfg(feature = "sqlite")]
        AnyConnection::Sqlite(db) => {
            Ok((Advance::<BigInt>::by(count, &["revision"]).get_result(db)?, Timeline::ONLY))
        }
        #[cfg(feature = "postgres")]
        AnyConnection::Postgres(db) => {
            let position = Advance::<(BigInt, diesel::sql_types::Nullable<BigInt>)>::by(count, POSITION);
            let (latest, timeline) = position.get_result::<(i64, Option<i64>)>(db)?;
            Ok((latest, timeline.map(Timeline::of_server).ok_or(Failure::Standby)?))
        }
    }
}

/// Now and then forgets what is older than what has to be remembered.
fn trim(db: &mut AnyConnection, latest: i64, count: i64, remembered: u64) -> Result<(), Failure> {
    let remembered = i64::try_from(remembered).unwrap_or(i64::MAX);
    let stride = (remembered / 64).max(1);
    if latest / stride != (latest - count) / stride {
        let forgotten = latest.saturating_sub(remembered);
        diesel::delete(changes::table.filter(changes::revision.le(forgotten))).execute(db)?;
    }
    Ok(())
}

/// The revision of the newest change. A standby does not know it.
pub(crate) fn latest(db: &mut AnyConnection) -> Result<Revision, Failure> {
    let (latest, timeline) = position(db)?;
    Ok(timeline.revision(latest))
}

/// The number of the newest change, and the timeline that it is on, both in one statement.
fn position(db: &mut AnyConnection) -> Result<(u64, Timeline), Failure> {
    match db {
        #[cfg(feature = "sqlite")]
        AnyConnection::Sqlite(db) => {
            Ok((to_number(history::table.select(history::revision).get_result(db)?)?, Timeline::ONLY))
        }
        #[cfg(feature = "postgres")]
        AnyConnection::Postgres(db) => {
            let position = history::table.select((history::revision, server_timeline()));
            let (latest, timeline) = position.first::<(i64, Option<i64>)>(db)?;
            Ok((to_number(latest)?, timeline.map(Timeline::of_server).ok_or(Failure::Standby)?))
        }
    }
}

/// What tells where a server's history is.
#[cfg(feature = "postgres")]
const POSITION: &[&str] = &["revision", crate::postgres::timeline::NUMBER];

#[cfg(feature = "postgres")]
fn server_timeline() -> diesel::expression::SqlLiteral<diesel::sql_types::Nullable<diesel::sql_types::BigInt>>
{
    diesel::dsl::sql(crate::postgres::timeline::NUMBER)
}

/// A change as the history numbers it. It says nothing of the timeline, which a connection that has written never leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChangeNumber(i64);

/// The number of the newest change, for whoever goes on with the same connection.
pub(crate) fn newest(db: &mut AnyConnection) -> QueryResult<ChangeNumber> {
    history::table.select(history::revision).get_result(db).map(ChangeNumber)
}

/// How far the versions of grants are ahead of revisions.
pub(super) fn grant_offset(db: &mut AnyConnection) -> QueryResult<i64> {
    history::table.select(history::grant_offset).get_result(db)
}

/// Sees to it that versions made from now on are higher than this one.
pub(super) fn raise_grant_offset(db: &mut AnyConnection, version: i64) -> QueryResult<()> {
    let (revision, offset): (i64, i64) =
        history::table.select((history::revision, history::grant_offset)).get_result(db)?;
    diesel::update(history::table)
        .set(history::grant_offset.eq(offset.max(version.saturating_sub(revision))))
        .execute(db)?;
    Ok(())
}

/// The changes after a revision. Both statements must see the same moment.
pub(crate) fn since(
    db: &mut AnyConnection,
    revision: Revision,
    unreadable: &Unreadable,
) -> Result<Changes, Failure> {
    let (newest, timeline) = position(db)?;
    let latest = timeline.revision(newest);
    let number = timeline.number(revision);
    let Some((number, wanted)) = number.and_then(|number| Some((number, newest.checked_sub(number)?))) else {
        return Ok(Changes::Gap(latest));
    };
    let after = i64::try_from(number).unwrap_or(i64::MAX);
    let rows: Vec<ChangeRow> =
        changes::table.filter(changes::revision.gt(after)).order(changes::revision).load(db)?;
    // Revisions have no holes, so fewer rows than that means that some are forgotten.
    if rows.len() as u64 != wanted {
        return Ok(Changes::Gap(latest));
    }
    let mut listed = Vec::with_capacity(rows.len());
    for row in rows {
        match row.subject(unreadable) {
            Some(subject) => {
                listed.push(Change { revision: timeline.revision(to_number(row.revision)?), subject });
            }
            // It may have been about anything.
            None => return Ok(Changes::Gap(latest)),
        }
    }
    Ok(Changes::Listed(listed))
}

/// What changes of these kinds after that one were about, or nothing where the history does not reach back that far.
/// Others may go on to record changes of other kinds.
pub(crate) fn concerning(
    db: &mut AnyConnection,
    ChangeNumber(after): ChangeNumber,
    kinds: &BTreeSet<Kind>,
) -> Result<Option<Vec<Subject>>, Failure> {
    let next = after.saturating_add(1);
    let names: Vec<_> = kinds.iter().copied().map(Kind::stored).collect();
    // The oldest are forgotten first, so as long as the next one is there all after it are.
    let rows: Vec<ChangeRow> = changes::table
        .filter(changes::revision.gt(after))
        .filter(changes::kind.eq_any(names).or(changes::revision.eq(next)))
        .order(changes::revision)
        .load(db)?;
    match rows.first() {
        Some(first) if first.revision == next => {}
        None if newest(db)? == ChangeNumber(after) => {}
        _ => return Ok(None),
    }
    let mut subjects = Vec::new();
    for row in rows {
        match from_text(&row.kind, &row.subject).or_else(|| from_text(&row.kind, ALL_OF_KIND)) {
            Some(subject) if kinds.contains(&subject.kind()) => subjects.push(subject),
            Some(_) => {}
            // It may have been about anything.
            None => return Ok(None),
        }
    }
    Ok(Some(subjects))
}

impl ChangeRow {
    /// What the change was about: all of its kind where only that can be read, nothing where not even that.
    fn subject(&self, unreadable: &Unreadable) -> Option<Subject> {
        let read = from_text(&self.kind, &self.subject)
            .ok_or(RowError { table: ChangeRow::TABLE.name, column: "subject" });
        unreadable.accept(&self.key(), read).or_else(|| from_text(&self.kind, ALL_OF_KIND))
    }
}

fn to_number(column: i64) -> Result<u64, Failure> {
    u64::try_from(column).map_err(|_| RowError { table: "history", column: "revision" }.into())
}

fn to_text(subject: &Subject) -> (&'static str, String) {
    let parts: Vec<_> = subject.parts().into_iter().map(|(_, part)| part.to_string()).collect();
    let text = if parts.is_empty() { ALL_OF_KIND.to_owned() } else { parts.join(" ") };
    (subject.kind().stored(), text)
}

fn from_text(kind: &str, text: &str) -> Option<Subject> {
    let kind = Kind::ALL.into_iter().find(|known| known.stored() == kind)?;
    if text == ALL_OF_KIND { Some(Subject::Many(kind)) } else { Subject::parse(kind, text.split(' ')) }
}

/// Makes room for so many changes, and returns what is asked of the history then, which has the type `T`.
pub(super) struct Advance<T> {
    count: i64,
    returning: &'static [&'static str],
    sql_type: PhantomData<T>,
}

impl<T> Advance<T> {
    pub(super) const fn by(count: i64, returning: &'static [&'static str]) -> Self {
        Self { count, returning, sql_type: PhantomData }
    }
}

impl<T, DB> QueryFragment<DB> for Advance<T>
where
    DB: Backend + HasSqlType<BigInt>,
    i64: ToSql<BigInt, DB>,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        out.push_sql("UPDATE history SET revision = revision + ");
        out.push_bind_param::<BigInt, _>(&self.count)?;
        for (place, value) in self.returning.iter().enumerate() {
            out.push_sql(if place == 0 { " RETURNING " } else { ", " });
            out.push_sql(value);
        }
        Ok(())
    }
}

/// It is known by its text.
impl<T> QueryId for Advance<T> {
    type QueryId = ();

    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<T> Query for Advance<T> {
    type SqlType = T;
}

impl<T, C> RunQueryDsl<C> for Advance<T> {}

/// More changes of one kind in one write than this are summed up as [`Subject::Many`].
pub(crate) const NAMED: usize = 100;
/// The same for sessions and grants. Each copy of one that is forgotten costs a signed-in user a look-up, so they are
/// named as long as that does not flood the history.
const NAMED_SESSIONS: usize = 10_000;

#[derive(Default)]
pub(crate) struct Journal(BTreeMap<Kind, Vec<Subject>>);

impl Journal {
    /// Notes that this may be different now.
    pub(crate) fn note(&mut self, subject: Subject) {
        let kind = subject.kind();
        let subjects = self.0.entry(kind).or_default();
        if matches!(subject, Subject::Many(_)) && subjects.contains(&subject) {
            return;
        }
        // One more than the limit is enough to know that it was passed.
        if subjects.len() <= named(kind) {
            subjects.push(subject);
        }
    }

    /// What was noted, kind by kind.
    pub(crate) fn into_subjects(self) -> Vec<Subject> {
        let subjects = self.0.into_iter().flat_map(|(kind, subjects)| {
            if subjects.len() <= named(kind) { subjects } else { vec![Subject::Many(kind)] }
        });
        subjects.collect()
    }
}

/// How many changes of a kind are named in one write.
pub(crate) const fn named(kind: Kind) -> usize {
    match kind {
        Kind::Session | Kind::Grant => NAMED_SESSIONS,
        _ => NAMED,
    }
}

/// The database in the hands of one job, and what the job notes as changed.
pub(crate) struct Write<'a> {
    /// The connection, in a transaction or a savepoint that is the job's own.
    pub(crate) db: &'a mut AnyConnection,
    journal: Journal,
    latest: Option<Revision>,
    remembered: u64,
}

impl<'a> Write<'a> {
    pub(crate) fn new(db: &'a mut AnyConnection, remembered: u64) -> Self {
        Self { db, journal: Journal::default(), latest: None, remembered }
    }

    /// Notes that this may be different now.
    pub(crate) fn note(&mut self, subject: Subject) {
        self.journal.note(subject);
    }

    /// Notes a change, where it was one.
    pub(crate) fn noted(&mut self, tally: Tally, subject: impl FnOnce() -> Subject) -> Tally {
        if tally != Tally::NOTHING {
            self.journal.note(subject());
        }
        tally
    }

    /// Records a change at once, for a job that needs to know its revision.
    pub(crate) fn record(&mut self, subject: &Subject) -> Result<Revision, Failure> {
        let (revision, _) = self.append(vec![subject.clone()])?;
        Ok(revision)
    }

    /// Records everything that was noted, and returns it.
    pub(crate) fn record_noted(&mut self) -> Result<Vec<Change>, Failure> {
        let subjects = std::mem::take(&mut self.journal).into_subjects();
        if subjects.is_empty() {
            return Ok(Vec::new());
        }
        Ok(self.append(subjects)?.1)
    }

    fn append(&mut self, subjects: Vec<Subject>) -> Result<(Revision, Vec<Change>), Failure> {
        let latest = append(self.db, &subjects, self.remembered)?;
        self.latest = Some(latest);
        let first = (latest.0 + 1).saturating_sub(subjects.len() as u64);
        let changes = (first..).map(Revision).zip(subjects);
        Ok((latest, changes.map(|(revision, subject)| Change { revision, subject }).collect()))
    }

    /// The newest revision that the job has made.
    pub(crate) const fn latest(&self) -> Option<Revision> {
        self.latest
    }
}

/// What removing so many rows of one thing each did.
pub(crate) const fn removed(rows: usize) -> Tally {
    Tally { removed: rows as u64, ..Tally::NOTHING }
}
