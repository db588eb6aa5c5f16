//! The history of changes, as rows.

use crate::{
    connection::AnyConnection,
    failure::{Failure, RowError},
    row::unreadable::{Key, Unreadable},
    schema::{changes, history},
};
use companion_domain::{
    change::{Change, Changes, Kind, Revision, Subject},
    model::{GuildId, UserId},
};
use diesel::{BoolExpressionMethods, ExpressionMethods, Insertable, QueryDsl, Queryable, RunQueryDsl};
use std::collections::{BTreeMap, BTreeSet};

/// More changes of one kind in one write than this are told as [`Subject::Many`].
pub(crate) const NAMED: usize = 100;
/// The same for sessions and grants. Each copy of one that is forgotten costs a signed-in user a look-up, so they are
/// named as long as that does not flood the history.
const NAMED_SESSIONS: usize = 10_000;

const ALL_OF_KIND: &str = "*";

/// Collects what one write changes, until it becomes history.
#[derive(Default)]
pub(crate) struct Journal(BTreeMap<Kind, Vec<Subject>>);

impl Journal {
    /// Notes that this may be different now.
    pub(crate) fn note(&mut self, subject: Subject) {
        let kind = subject.kind();
        let subjects = self.0.entry(kind).or_default();
        // One more than the limit is enough to know that it was passed.
        if subjects.len() <= named(kind) {
            subjects.push(subject);
        }
    }

    /// What was noted, kind by kind.
    pub(crate) fn into_subjects(self) -> Vec<Subject> {
        let told = self.0.into_iter().flat_map(|(kind, subjects)| {
            if subjects.len() <= named(kind) { subjects } else { vec![Subject::Many(kind)] }
        });
        told.collect()
    }
}

/// How many changes of a kind are named in one write.
pub(crate) const fn named(kind: Kind) -> usize {
    match kind {
        Kind::Session | Kind::Grant => NAMED_SESSIONS,
        Kind::Guild
        | Kind::Member
        | Kind::Subscription
        | Kind::Staff
        | Kind::Blocked
        | Kind::Feedback
        | Kind::Team
        | Kind::Cluster => NAMED,
    }
}

#[derive(Queryable, Insertable)]
#[diesel(table_name = changes)]
struct ChangeRow {
    revision: i64,
    kind: String,
    subject: String,
}

/// Gives each change its revision. Every writer passes here, and passes one after the other, so that revisions have no
/// holes and are committed in their order.
pub(crate) fn append(
    db: &mut AnyConnection,
    subjects: &[Subject],
    remembered: u64,
) -> Result<Revision, Failure> {
    let count = i64::try_from(subjects.len()).unwrap_or(i64::MAX);
    let latest: i64 = diesel::update(history::table)
        .set(history::revision.eq(history::revision + count))
        .returning(history::revision)
        .get_result(db)?;
    for (revision, subject) in (latest - count + 1..).zip(subjects) {
        let (kind, subject) = to_text(subject);
        let row = ChangeRow { revision, kind: kind.to_owned(), subject };
        diesel::insert_into(changes::table).values(row).execute(db)?;
    }
    trim(db, latest, count, remembered)?;
    Ok(Revision(to_revision(latest)?))
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

pub(crate) fn latest(db: &mut AnyConnection) -> Result<Revision, Failure> {
    let latest: i64 = history::table.select(history::revision).first(db)?;
    Ok(Revision(to_revision(latest)?))
}

/// The changes after a revision. Both statements must see the same moment.
pub(crate) fn since(
    db: &mut AnyConnection,
    revision: Revision,
    unreadable: &Unreadable,
) -> Result<Changes, Failure> {
    let latest = latest(db)?;
    let Some(wanted) = latest.0.checked_sub(revision.0) else {
        return Ok(Changes::Gap(latest));
    };
    let after = i64::try_from(revision.0).unwrap_or(i64::MAX);
    let rows: Vec<ChangeRow> =
        changes::table.filter(changes::revision.gt(after)).order(changes::revision).load(db)?;
    // Revisions have no holes, so fewer rows than that means that some are forgotten.
    if rows.len() as u64 != wanted {
        return Ok(Changes::Gap(latest));
    }
    let mut listed = Vec::with_capacity(rows.len());
    for row in rows {
        match row.subject(unreadable) {
            Some(subject) => listed.push(Change { revision: Revision(to_revision(row.revision)?), subject }),
            // It may have been about anything.
            None => return Ok(Changes::Gap(latest)),
        }
    }
    Ok(Changes::Listed(listed))
}

/// What changes of these kinds after a revision were about, or nothing where the history does not reach back that far.
/// Others may go on to record changes of other kinds.
pub(crate) fn concerning(
    db: &mut AnyConnection,
    revision: Revision,
    kinds: &BTreeSet<Kind>,
) -> Result<Option<Vec<Subject>>, Failure> {
    let after = i64::try_from(revision.0).unwrap_or(i64::MAX);
    let next = after.saturating_add(1);
    let names: Vec<_> = kinds.iter().copied().map(kind_name).collect();
    // The oldest are forgotten first, so as long as the next one is there all after it are.
    let rows: Vec<ChangeRow> = changes::table
        .filter(changes::revision.gt(after))
        .filter(changes::kind.eq_any(names).or(changes::revision.eq(next)))
        .order(changes::revision)
        .load(db)?;
    match rows.first() {
        Some(first) if first.revision == next => {}
        None if latest(db)? == revision => {}
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
        let read =
            from_text(&self.kind, &self.subject).ok_or(RowError { table: "changes", column: "subject" });
        unreadable.accept(&Key::Id(self.revision), read).or_else(|| from_text(&self.kind, ALL_OF_KIND))
    }
}

fn to_revision(column: i64) -> Result<u64, Failure> {
    u64::try_from(column).map_err(|_| RowError { table: "history", column: "revision" }.into())
}

const fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Guild => "guild",
        Kind::Member => "member",
        Kind::Subscription => "subscription",
        Kind::Staff => "staff",
        Kind::Blocked => "blocked",
        Kind::Feedback => "feedback",
        Kind::Team => "team",
        Kind::Cluster => "cluster",
        Kind::Session => "session",
        Kind::Grant => "grant",
    }
}

fn to_text(subject: &Subject) -> (&'static str, String) {
    let text = match subject {
        Subject::Guild(guild) => guild.to_string(),
        Subject::Member(guild, user) => format!("{guild} {user}"),
        Subject::Subscription(user)
        | Subject::Staff(user)
        | Subject::Blocked(user)
        | Subject::Grant(user) => user.to_string(),
        Subject::Feedback(id) => id.to_string(),
        Subject::Team => String::new(),
        Subject::Cluster(id) => id.to_string(),
        Subject::Session(id) => id.to_string(),
        Subject::Many(_) => ALL_OF_KIND.to_owned(),
    };
    (kind_name(subject.kind()), text)
}

fn from_text(kind: &str, text: &str) -> Option<Subject> {
    let kind = Kind::ALL.into_iter().find(|known| kind_name(*known) == kind)?;
    if text == ALL_OF_KIND {
        return Some(Subject::Many(kind));
    }
    let user = || text.parse::<UserId>().ok();
    match kind {
        Kind::Guild => text.parse().ok().map(Subject::Guild),
        Kind::Member => {
            let (guild, user) = text.split_once(' ')?;
            Some(Subject::Member(guild.parse::<GuildId>().ok()?, user.parse::<UserId>().ok()?))
        }
        Kind::Subscription => user().map(Subject::Subscription),
        Kind::Staff => user().map(Subject::Staff),
        Kind::Blocked => user().map(Subject::Blocked),
        Kind::Feedback => text.parse().ok().map(Subject::Feedback),
        Kind::Team => Some(Subject::Team),
        Kind::Cluster => text.parse().ok().map(Subject::Cluster),
        Kind::Session => text.parse().ok().map(Subject::Session),
        Kind::Grant => user().map(Subject::Grant),
    }
}
