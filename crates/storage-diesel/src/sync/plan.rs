//! Merges everything that a sync has staged.

use crate::{
    connection::{Access, AnyConnection},
    failure::{RowError, WorkError},
    schema::ColumnType,
    table::{
        clusters,
        column::Field as _,
        history::{self, ChangeNumber, Write},
        records::table_of,
        staging::{self, Merge, Scope},
    },
    writer::End,
};
use companion_domain::{
    change::{Applied, Kind, Subject, Tally},
    model::GuildId,
    port::{Replace, SyncError},
};
use diesel::QueryResult;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Display,
};

pub(super) enum Compared {
    /// The staged rows equal the stored ones, so there is nothing to write.
    Same,
    /// The staged rows differ, as of this change.
    Differing(ChangeNumber),
    /// A member's guild is neither stored nor staged.
    Unknown(SyncError),
}

pub(super) enum Merged {
    Done(Applied),
    /// Too much changed since the comparison; nothing was written.
    Outdated,
    /// A member's guild is neither stored nor staged.
    Unknown(SyncError),
}

/// What to merge, in order: a guild before its members.
pub(super) struct Plan {
    /// Compared while others write. Their changes are in the history.
    early: Vec<Merge>,
    /// Compared under the write lock, because the history omits some of their updates: the use of a session and the
    /// claim on a grant.
    late: Vec<Merge>,
    removes_clusters: bool,
}

impl Plan {
    /// Returns the plan for the staged kinds and the replaced ones.
    pub(super) fn new(staged: &BTreeSet<Kind>, replace: &Replace) -> Self {
        let concerned =
            Kind::ALL.into_iter().filter(|kind| staged.contains(kind) || replace.kinds.contains(kind));
        let (late, early) = concerned
            .filter_map(|kind| staging::merge_of(kind, replace))
            .partition(|merge| matches!(merge.kind, Kind::Session | Kind::Grant));
        Self { early, late, removes_clusters: replace.kinds.contains(&Kind::Cluster) }
    }

    /// Returns what the merge writes.
    pub(super) fn access(&self) -> Access {
        if self.late.is_empty() && !self.removes_clusters { Access::World } else { Access::All }
    }

    /// Returns the tables of differing rows.
    pub(super) fn differing(&self) -> Vec<String> {
        self.early.iter().map(|merge| merge.table.differing()).collect()
    }

    /// Compares staged rows with stored ones, and keeps the differing ones. Must run in one snapshot.
    pub(super) fn compare(&self, db: &mut AnyConnection) -> Result<Compared, WorkError> {
        let change = history::newest(db)?;
        if let Some(unknown) = self.first_unknown_guild(db, &Scope::Everything)? {
            return Ok(Compared::Unknown(unknown));
        }
        let mut rows = 0;
        for merge in &self.early {
            rows += merge.compare(db, &Scope::Everything)?;
        }
        let is_same = rows == 0 && self.late.is_empty() && !self.removes_clusters;
        Ok(if is_same { Compared::Same } else { Compared::Differing(change) })
    }

    /// Prepares the differing rows for writing, as far as possible while others write.
    pub(super) fn touch(&self, db: &mut AnyConnection) -> QueryResult<()> {
        self.early.iter().try_for_each(|merge| merge.touch(db))
    }

    /// Writes the differing rows, after comparing again those changed since `change`. If too many changed, the caller
    /// should compare again, unless this is the `last` attempt.
    pub(super) fn merge(
        &self,
        write: &mut Write<'_>,
        change: ChangeNumber,
        last: bool,
    ) -> Result<End<Merged>, WorkError> {
        let unknown = match changed_since(write.db, change, &self.watched())? {
            Some(rows) => self.compare_again(write.db, &rows)?,
            None if last => match self.compare(write.db)? {
                Compared::Unknown(unknown) => Some(unknown),
                Compared::Same | Compared::Differing(_) => None,
            },
            None => return Ok(End::RollBack(Merged::Outdated)),
        };
        if let Some(unknown) = unknown {
            return Ok(End::RollBack(Merged::Unknown(unknown)));
        }
        for merge in &self.late {
            merge.compare(write.db, &Scope::Everything)?;
        }
        let tally = self.write(write)?;
        Ok(End::Commit(Merged::Done(write.applied(tally)?)))
    }

    /// Returns the kinds whose changes invalidate a comparison.
    fn watched(&self) -> BTreeSet<Kind> {
        let mut kinds: BTreeSet<_> = self.early.iter().map(|merge| merge.kind).collect();
        if kinds.iter().any(|kind| kind.is_of_guild()) {
            // A removed guild invalidates its staged records.
            kinds.insert(Kind::Guild);
        }
        kinds
    }

    fn compare_again(
        &self,
        db: &mut AnyConnection,
        rows: &ChangedRows,
    ) -> Result<Option<SyncError>, WorkError> {
        let changed = |kind| rows.get(&kind).map(|rows| Scope::Keys(rows));
        if let Some(guilds) = changed(Kind::Guild)
            && let Some(unknown) = self.first_unknown_guild(db, &guilds)?
        {
            return Ok(Some(unknown));
        }
        for merge in &self.early {
            if let Some(rows) = changed(merge.kind) {
                merge.compare(db, &rows)?;
            }
        }
        Ok(None)
    }

    fn write(&self, write: &mut Write<'_>) -> Result<Tally, WorkError> {
        write.db.assume_cached()?;
        let mut tally = Tally::NOTHING;
        for merge in self.early.iter().chain(&self.late) {
            tally += staging::write(write, merge)?;
        }
        if self.removes_clusters {
            // No record carries a cluster, so replacing clusters removes all of them.
            tally += clusters::forget_all(write)?;
        }
        Ok(tally)
    }

    fn first_unknown_guild(
        &self,
        db: &mut AnyConnection,
        guilds: &Scope<'_>,
    ) -> Result<Option<SyncError>, WorkError> {
        if !self.early.iter().any(|merge| merge.kind.is_of_guild()) {
            return Ok(None);
        }
        let unknown = staging::first_unknown_guild(db, guilds)?.map(|(line, guild)| {
            let nonsense = RowError { table: "staged_named_guilds", column: "guild" };
            let (line, guild) = (line.cast_unsigned(), GuildId::of_column(&guild).ok_or(nonsense)?);
            Ok(SyncError::UnknownGuild { line, guild })
        });
        unknown.transpose()
    }
}

/// Maximum number of changed rows that are compared one by one.
const MAX_KEYED_ROWS: usize = 200;

/// Changed rows, each by its key as SQL literals.
type ChangedRows = BTreeMap<Kind, Vec<Vec<String>>>;

/// Returns what changed of these kinds since `change`, or `None` if there are more rows than can be named.
fn changed_since(
    db: &mut AnyConnection,
    change: ChangeNumber,
    kinds: &BTreeSet<Kind>,
) -> Result<Option<ChangedRows>, WorkError> {
    let Some(subjects) = history::concerning(db, change, kinds)? else { return Ok(None) };
    let mut rows = ChangedRows::new();
    for (number, subject) in subjects.into_iter().enumerate() {
        match keys(&subject) {
            Some(keys) if number < MAX_KEYED_ROWS => rows.entry(subject.kind()).or_default().push(keys),
            _ => return Ok(None),
        }
    }
    Ok(Some(rows))
}

/// Returns the key of a subject as SQL literals, or `None` if it names no row. The empty key of the team matches all
/// rows, because a team is small.
fn keys(subject: &Subject) -> Option<Vec<String>> {
    if *subject == Subject::Many(Kind::Team) {
        return Some(Vec::new());
    }
    let (table, parts) = (table_of(subject.kind())?, subject.parts());
    let key = |((_, part), column): (&(&str, &dyn Display), &&str)| match table.type_of(column)? {
        ColumnType::BigInt => Some(part.to_string().parse::<u64>().ok()?.cast_signed().to_string()),
        // An id contains no character that needs escaping.
        ColumnType::Text => Some(format!("'{part}'")),
        ColumnType::Bool | ColumnType::Binary => None,
    };
    if parts.is_empty() { None } else { parts.iter().zip(table.keys).map(key).collect() }
}
