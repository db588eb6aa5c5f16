//! Merging a staging table into its table: what is gone goes, what differs is updated, what is new is inserted.
//!
//! It has two steps. The first compares the two, and keeps the rows in which they differ in a third table. The second
//! writes those rows, and looks at nothing else.

use crate::{connection::AnyConnection, failure::Failure, table::row::Table};
use companion_domain::change::{Kind, Tally};
use diesel::{QueryResult, RunQueryDsl, sql_query};

/// How a staging table is merged into its table.
pub(crate) struct Merge {
    pub(crate) kind: Kind,
    pub(crate) table: &'static Table,
    /// What else an update sets, beginning with a comma.
    pub(super) also_set: &'static str,
    /// Which rows of the table, `{}`, disappear when they were not staged; none where this is absent.
    pub(super) covered: Option<String>,
    /// Which rows of either table, `{}`, are none of this merge's business.
    pub(super) except: Option<String>,
}

/// What has to be done with a row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Op {
    Delete = 0,
    Update = 1,
    Insert = 2,
}

impl Op {
    pub(super) const ALL: [Self; 3] = [Self::Delete, Self::Update, Self::Insert];

    /// As it stands in the column `op`.
    pub(super) const fn number(self) -> i64 {
        self as i64
    }
}

/// Which rows are compared.
pub(crate) enum Scope<'a> {
    Everything,
    /// Those whose first keys are these, each as it is written in a statement.
    Keys(&'a [Vec<String>]),
}

impl Scope<'_> {
    /// A condition on a table of this name.
    pub(super) fn of(&self, keys: &[&str], name: &str) -> String {
        let Scope::Keys(rows) = self else {
            return "TRUE".to_owned();
        };
        let row = |row: &Vec<String>| {
            let same: Vec<_> = keys.iter().zip(row).map(|(key, is)| format!("{name}.{key} = {is}")).collect();
            if same.is_empty() { "TRUE".to_owned() } else { format!("({})", same.join(" AND ")) }
        };
        let rows: Vec<_> = rows.iter().map(row).collect();
        if rows.is_empty() { "FALSE".to_owned() } else { format!("({})", rows.join(" OR ")) }
    }
}

impl Merge {
    /// Compares, and keeps what differs in place of what was kept before. Returns how many rows that are.
    pub(crate) fn compare(&self, db: &mut AnyConnection, scope: &Scope<'_>) -> QueryResult<usize> {
        let Table { name: table, staged, keys, .. } = self.table;
        let differing = self.table.differing();
        let within = |name| {
            let except = self.except.as_ref().map(|except| except.replace("{}", name));
            let except = except.map(|except| format!(" AND NOT ({except})")).unwrap_or_default();
            format!("{}{except}", scope.of(keys, name))
        };
        sql_query(format!("DELETE FROM {differing} AS d WHERE {}", scope.of(keys, "d"))).execute(db)?;
        let same_key = each(keys.iter().copied(), "s.{} = t.{}", " AND ");
        let columns = self.table.names();
        let is_new = keys.first().map(|key| format!("t.{key} IS NULL")).unwrap_or_default();
        let differs = each(self.table.values(), " OR t.{} IS DISTINCT FROM s.{}", "");
        let mut rows = sql_query(format!(
            "INSERT INTO {differing} (op, {}) SELECT CASE WHEN {is_new} THEN {} ELSE {} END, {} \
             FROM {staged} AS s LEFT JOIN {table} AS t ON {same_key} WHERE ({is_new}{differs}) AND {}",
            each(columns.clone(), "{}", ", "),
            Op::Insert.number(),
            Op::Update.number(),
            each(columns, "s.{}", ", "),
            within("s"),
        ))
        .execute(db)?;
        if let Some(covered) = &self.covered {
            rows += sql_query(format!(
                "INSERT INTO {differing} (op, {}) SELECT {}, {} FROM {table} AS t WHERE {} \
                 AND NOT EXISTS (SELECT 1 FROM {staged} AS s WHERE {same_key}) AND {}",
                keys.join(", "),
                Op::Delete.number(),
                each(keys.iter().copied(), "t.{}", ", "),
                covered.replace("{}", "t"),
                within("t"),
            ))
            .execute(db)?;
        }
        Ok(rows)
    }

    /// Selects some keys of the rows with which this has to be done.
    pub(super) fn select_keys(&self, op: Op, limit: usize) -> String {
        let (keys, differing, op) = (self.table.keys.join(", "), self.table.differing(), op.number());
        format!("SELECT {keys} FROM {differing} WHERE op = {op} LIMIT {limit}")
    }

    /// Writes the rows that differ in this way, and counts them.
    pub(super) fn write(&self, db: &mut AnyConnection, op: Op) -> Result<Tally, Failure> {
        let statement = match op {
            Op::Delete => self.delete(),
            Op::Update => self.update(db),
            Op::Insert => self.insert(op),
        };
        let rows = sql_query(statement).execute(db)? as u64;
        Ok(match op {
            Op::Delete => Tally { removed: rows, ..Tally::NOTHING },
            Op::Update => Tally { changed: rows, ..Tally::NOTHING },
            Op::Insert => Tally { added: rows, ..Tally::NOTHING },
        })
    }

    fn delete(&self) -> String {
        let (table, differing, keys) = (self.table.name, self.table.differing(), self.table.keys.join(", "));
        let delete = Op::Delete.number();
        format!("DELETE FROM {table} WHERE ({keys}) IN (SELECT {keys} FROM {differing} WHERE op = {delete})")
    }

    /// In the order of the keys, which is how an index grows quickest.
    fn insert(&self, op: Op) -> String {
        let columns = each(self.table.names(), "{}", ", ");
        let (table, differing, keys) = (self.table.name, self.table.differing(), self.table.keys.join(", "));
        format!(
            "INSERT INTO {table} ({columns}) SELECT {columns} FROM {differing} WHERE op = {} ORDER BY {keys}",
            op.number()
        )
    }

    pub(super) fn update(&self, db: &AnyConnection) -> String {
        match db {
            // It would put the rows of an update that joins two tables aside first, which takes twice the time.
            #[cfg(feature = "sqlite")]
            AnyConnection::Sqlite(_) => {
                let values = each(self.table.values(), "{} = excluded.{}", ", ");
                let (insert, keys) = (self.insert(Op::Update), self.table.keys.join(", "));
                format!("{insert} ON CONFLICT ({keys}) DO UPDATE SET {values}{}", self.also_set)
            }
            #[cfg(feature = "postgres")]
            AnyConnection::Postgres(_) => {
                let values = each(self.table.values(), "{} = d.{}", ", ");
                let same_key = each(self.table.keys.iter().copied(), "d.{} = t.{}", " AND ");
                let (table, differing, update) =
                    (self.table.name, self.table.differing(), Op::Update.number());
                format!(
                    "UPDATE {table} AS t SET {values}{} FROM {differing} AS d WHERE d.op = {update} AND {same_key}",
                    self.also_set
                )
            }
        }
    }
}

/// A piece of SQL for each name, joined.
pub(super) fn each<'a>(names: impl Iterator<Item = &'a str>, form: &str, between: &str) -> String {
    names.map(|name| form.replace("{}", name)).collect::<Vec<_>>().join(between)
}
