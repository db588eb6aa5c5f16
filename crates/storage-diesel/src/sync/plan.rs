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
};
use companion_domain::{
    change::{Applied, Kind, Subject, Tally},
    model::GuildId,
    port::Replace,
};
use diesel::QueryResult;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Display,
};

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

    /// Compares staged rows with stored ones, and keeps the differing ones. Must run in one snapshot. Returns the change
    /// as of which they differ, or `None` if there is nothing to write.
    pub(super) fn compare(&self, db: &mut AnyConnection) -> Result<Option<ChangeNumber>, WorkError> {
        let change = history::newest(db)?;
        self.check_guilds(db, &Scope::Everything)?;
        let mut rows = 0;
        for merge in &self.early {
            rows += merge.compare(db, &Scope::Everything)?;
        }
        let is_same = rows == 0 && self.late.is_empty() && !self.removes_clusters;
        Ok((!is_same).then_some(change))
    }

    /// Prepares the differing rows for writing, as far as possible while others write.
    pub(super) fn touch(&self, db: &mut AnyConnection) -> QueryResult<()> {
        self.early.iter().try_for_each(|merge| merge.touch(db))
    }

    /// Writes the differing rows, after comparing again those changed since `change`. Returns `None` if too many changed
    /// and this is not the `last` attempt: then the caller should compare again.
    pub(super) fn merge(
        &self,
        write: &mut Write<'_>,
        change: ChangeNumber,
        last: bool,
    ) -> Result<Option<Applied>, WorkError> {
        match changed_since(write.db, change, &self.watched())? {
            Some(rows) => self.compare_again(write.db, &rows)?,
            None if last => {
                self.compare(write.db)?;
            }
            None => return Ok(None),
        }
        for merge in &self.late {
            merge.compare(write.db, &Scope::Everything)?;
        }
        let tally = self.write(write)?;
        Ok(Some(write.applied(tally)?))
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

    fn compare_again(&self, db: &mut AnyConnection, rows: &ChangedRows) -> Result<(), WorkError> {
        let changed = |kind| rows.get(&kind).map(|rows| Scope::Keys(rows));
        if let Some(guilds) = changed(Kind::Guild) {
            self.check_guilds(db, &guilds)?;
        }
        for merge in &self.early {
            if let Some(rows) = changed(merge.kind) {
                merge.compare(db, &rows)?;
            }
        }
        Ok(())
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

    /// Returns an error if the guild of a member or an outline is neither stored nor staged.
    fn check_guilds(&self, db: &mut AnyConnection, guilds: &Scope<'_>) -> Result<(), WorkError> {
        if !self.early.iter().any(|merge| merge.kind.is_of_guild()) {
            return Ok(());
        }
        let Some((line, guild)) = staging::first_unknown_guild(db, guilds)? else { return Ok(()) };
        let nonsense = RowError { table: "staged_named_guilds", column: "guild" };
        let guild = GuildId::of_column(&guild).ok_or(nonsense)?;
        Err(WorkError::UnknownGuild { line: line.cast_unsigned(), guild })
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
