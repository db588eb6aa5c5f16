//! Merging a staging table into its table: what is gone goes, what differs is updated, what is new is inserted.

use crate::{
    connection::{AnyConnection, MultiBackend},
    error::Failure,
};
use companion_domain::change::Tally;
use diesel::{
    QueryResult, QueryableByName, RunQueryDsl, deserialize::FromSqlRow, sql_query, sql_types::BigInt,
};

/// How a staging table and its table belong together. The staging table has the same columns.
pub(super) struct Merge {
    pub(super) table: &'static str,
    pub(super) staged: &'static str,
    /// What makes a row the same row.
    pub(super) keys: &'static [&'static str],
    /// Everything else that comes with a record.
    pub(super) values: &'static [&'static str],
    /// What else an update sets, beginning with a comma.
    pub(super) also_set: &'static str,
    /// Which rows of the table, `t`, disappear when they were not staged; none where this is absent.
    pub(super) covered: Option<String>,
}

/// What can happen to a row.
#[derive(Clone, Copy)]
pub(super) enum Fate {
    Gone,
    Changed,
    Added,
}

impl Merge {
    /// The rows that this will happen to, as a source for a select or a statement. `$1` is the sync.
    pub(super) fn rows(&self, fate: Fate) -> Option<String> {
        let Self { table, staged, .. } = self;
        let same_key = self.pairs("s.{} = t.{}", self.keys, " AND ");
        match fate {
            Fate::Gone => {
                let covered = self.covered.as_deref()?;
                Some(format!(
                    "{table} AS t WHERE {covered} AND NOT EXISTS \
                     (SELECT 1 FROM {staged} AS s WHERE s.sync = $1 AND {same_key})"
                ))
            }
            Fate::Changed if self.values.is_empty() => None,
            Fate::Changed => {
                let differs = self.pairs("t.{} IS DISTINCT FROM s.{}", self.values, " OR ");
                Some(format!(
                    "{staged} AS s JOIN {table} AS t ON {same_key} WHERE s.sync = $1 AND ({differs})"
                ))
            }
            Fate::Added => Some(format!(
                "{staged} AS s WHERE s.sync = $1 AND NOT EXISTS (SELECT 1 FROM {table} AS t WHERE {same_key})"
            )),
        }
    }

    /// Some keys of the rows that this will happen to, as `first` and `second`.
    pub(super) fn keys<K>(
        &self,
        db: &mut AnyConnection,
        sync: i64,
        fate: Fate,
        limit: usize,
    ) -> QueryResult<Vec<K>>
    where
        K: QueryableByName<MultiBackend> + FromSqlRow<diesel::sql_types::Untyped, MultiBackend> + 'static,
    {
        let Some(rows) = self.rows(fate) else {
            return Ok(Vec::new());
        };
        let side = match fate {
            Fate::Gone | Fate::Changed => "t",
            Fate::Added => "s",
        };
        let names = ["first", "second"].iter().zip(self.keys);
        let columns: Vec<_> = names.map(|(name, key)| format!("{side}.{key} AS {name}")).collect();
        sql_query(format!("SELECT {} FROM {rows} LIMIT {limit}", columns.join(", ")))
            .bind::<BigInt, _>(sync)
            .load(db)
    }

    /// Makes it happen, and counts.
    pub(super) fn make(&self, db: &mut AnyConnection, sync: i64, fate: Fate) -> Result<Tally, Failure> {
        let Some(rows) = self.rows(fate) else {
            return Ok(Tally::NOTHING);
        };
        let Self { table, staged, .. } = self;
        let statement = match fate {
            Fate::Gone => format!("DELETE FROM {rows}"),
            Fate::Changed => {
                let same_key = self.pairs("s.{} = t.{}", self.keys, " AND ");
                let differs = self.pairs("t.{} IS DISTINCT FROM s.{}", self.values, " OR ");
                let values = self.pairs("{} = s.{}", self.values, ", ");
                format!(
                    "UPDATE {table} AS t SET {values}{} FROM {staged} AS s \
                     WHERE s.sync = $1 AND {same_key} AND ({differs})",
                    self.also_set
                )
            }
            Fate::Added => {
                let columns = [self.keys, self.values].concat();
                let staged_columns = self.pairs("s.{}", &columns, ", ");
                // In the order of the keys, which is how an index grows quickest.
                let order = self.pairs("s.{}", self.keys, ", ");
                format!(
                    "INSERT INTO {table} ({}) SELECT {staged_columns} FROM {rows} ORDER BY {order}",
                    columns.join(", ")
                )
            }
        };
        let rows = sql_query(statement).bind::<BigInt, _>(sync).execute(db)? as u64;
        Ok(match fate {
            Fate::Gone => Tally { removed: rows, ..Tally::NOTHING },
            Fate::Changed => Tally { changed: rows, ..Tally::NOTHING },
            Fate::Added => Tally { added: rows, ..Tally::NOTHING },
        })
    }

    /// Makes everything happen, and counts.
    pub(super) fn make_all(&self, db: &mut AnyConnection, sync: i64) -> Result<Tally, Failure> {
        let mut tally = Tally::NOTHING;
        for fate in [Fate::Gone, Fate::Changed, Fate::Added] {
            tally += self.make(db, sync, fate)?;
        }
        Ok(tally)
    }

    /// A piece of SQL for each column, joined.
    fn pairs(&self, form: &str, columns: &[&str], between: &str) -> String {
        let pieces: Vec<_> = columns.iter().map(|column| form.replace("{}", column)).collect();
        pieces.join(between)
    }
}
