//! Merges staged rows, and creates the temporary tables of each database.

use super::kinds::create_named_guilds;
use crate::{
    connection::AnyConnection,
    failure::WorkError,
    schema::{Column, ColumnType},
    table::{
        records::table_of,
        row::{Columns as _, SubscriptionGuildRow, Table, each},
    },
};
use companion_domain::change::{Kind, Tally};
use diesel::{
    QueryResult, RunQueryDsl, connection::SimpleConnection, dsl::sql, sql_query, sql_types::BigInt,
};

/// How a staging table is merged into its table.
pub(crate) struct Merge {
    pub(crate) kind: Kind,
    pub(crate) table: &'static Table,
    /// Additional assignments of an update, starting with a comma.
    pub(super) also_set: &'static str,
    /// Condition for rows of the table, `{}`, that are deleted unless staged. `None` deletes no row.
    pub(super) covered: Option<String>,
    /// Condition for rows of either table, `{}`, that the merge ignores.
    pub(super) except: Option<String>,
}

/// The operation that a differing row needs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Op {
    Delete = 0,
    Update = 1,
    Insert = 2,
}

impl Op {
    pub(super) const ALL: [Self; 3] = [Self::Delete, Self::Update, Self::Insert];

    /// Returns the value of the column `op`.
    pub(super) const fn number(self) -> i64 {
        self as i64
    }
}

/// The rows to compare.
pub(crate) enum Scope<'a> {
    Everything,
    /// Rows whose leading key columns have these values, given as SQL literals.
    Keys(&'a [Vec<String>]),
}

impl Scope<'_> {
    /// Returns the condition for a table with this alias.
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
    /// Compares the rows in scope, and replaces the differing rows kept for it. Returns the number of differing rows.
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

    /// Runs one operation on all rows that need it, and counts them.
    pub(super) fn write(&self, db: &mut AnyConnection, op: Op) -> Result<Tally, WorkError> {
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

    /// Ordered by key, which is the fastest order to fill an index in.
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
            // SQLite would materialise the rows of an update with a join first, which takes twice as long.
            AnyConnection::Sqlite(_) => {
                let values = each(self.table.values(), "{} = excluded.{}", ", ");
                let (insert, keys) = (self.insert(Op::Update), self.table.keys.join(", "));
                format!("{insert} ON CONFLICT ({keys}) DO UPDATE SET {values}{}", self.also_set)
            }
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

/// Number of rows locked at a time. Removing one of them waits for the batch.
const LOCK_BATCH: usize = 500;
/// If more rows differ, none is locked: a merge of that size delays other writers in any case.
const MAX_LOCKED_ROWS: i64 = 50_000;

impl Merge {
    /// Makes a server read and log the pages of the rows that will change. After a checkpoint the first write to a page
    /// logs the whole page, even if it only locks a row; for scattered rows that is most of the cost of an update. It
    /// waits for no lock, and only a removal of such a row waits for it, for one batch.
    pub(crate) fn touch(&self, db: &mut AnyConnection) -> QueryResult<()> {
        match db {
            // Only the holder of the write lock can prepare pages.
            AnyConnection::Sqlite(_) => Ok(()),
            AnyConnection::Postgres(_) => self.lock_briefly(db),
        }
    }

    fn lock_briefly(&self, db: &mut AnyConnection) -> QueryResult<()> {
        let (table, differing, keys) = (self.table.name, self.table.differing(), self.table.keys.join(", "));
        let stored = format!("FROM {differing} WHERE op <> {}", Op::Insert.number());
        let rows: i64 = sql::<BigInt>(&format!("SELECT count(*) {stored}")).get_result(db)?;
        if rows > MAX_LOCKED_ROWS {
            return Ok(());
        }
        let same_key = each(self.table.keys.iter().copied(), "d.{} = t.{}", " AND ");
        for offset in (0..rows).step_by(LOCK_BATCH) {
            sql_query(format!(
                "SELECT count(*) FROM (SELECT 1 FROM {table} AS t
                 JOIN (SELECT {keys} {stored} ORDER BY {keys} LIMIT {LOCK_BATCH} OFFSET {offset}) AS d ON {same_key}
                 FOR KEY SHARE OF t SKIP LOCKED) AS touched"
            ))
            .execute(db)?;
        }
        Ok(())
    }
}

/// Returns the staging tables of a kind.
pub(crate) fn staged_tables(kind: Kind) -> impl Iterator<Item = &'static str> {
    let more = match kind {
        _ if kind.is_of_guild() => Some("staged_named_guilds"),
        Kind::Subscription => Some(SubscriptionGuildRow::TABLE.staged),
        _ => None,
    };
    table_of(kind).map(|table| table.staged).into_iter().chain(more)
}

/// Creates the staging tables of a kind.
pub(crate) fn create(kind: Kind, db: &mut AnyConnection) -> QueryResult<()> {
    if let Some(table) = table_of(kind) {
        create_for(table, db)?;
    }
    match kind {
        _ if kind.is_of_guild() => create_named_guilds(db),
        Kind::Subscription => create_for(SubscriptionGuildRow::TABLE, db),
        _ => Ok(()),
    }
}

/// Creates a staging table, and the table of its rows that differ from the stored ones.
fn create_for(table: &Table, db: &mut AnyConnection) -> QueryResult<()> {
    let (replace, sorted) = match (&db, table.keys) {
        (AnyConnection::Postgres(_), _) => ("", ""),
        // A single integer key is the rowid, which is the fastest way to find a row.
        (AnyConnection::Sqlite(_), [key]) if table.type_of(key) == Some(ColumnType::BigInt) => {
            ("ON CONFLICT REPLACE", "")
        }
        (AnyConnection::Sqlite(_), _) => ("ON CONFLICT REPLACE", "WITHOUT ROWID"),
    };
    let column = |column: &Column| {
        let holds = match (&db, column.holds) {
            (AnyConnection::Sqlite(_), ColumnType::BigInt | ColumnType::Bool) => "INTEGER",
            (AnyConnection::Sqlite(_), ColumnType::Text) => "TEXT",
            (AnyConnection::Sqlite(_), ColumnType::Binary) => "BLOB",
            (AnyConnection::Postgres(_), ColumnType::BigInt) => "BIGINT",
            (AnyConnection::Postgres(_), ColumnType::Bool) => "BOOLEAN",
            (AnyConnection::Postgres(_), ColumnType::Text) => "TEXT COLLATE \"C\"",
            (AnyConnection::Postgres(_), ColumnType::Binary) => "BYTEA",
        };
        format!("{} {holds}", column.name)
    };
    let columns = table.columns.iter().map(column).collect::<Vec<_>>().join(", ");
    let (staged, differing, keys) = (table.staged, table.differing(), table.keys.join(", "));
    db.batch_execute(&format!(
        "CREATE TEMPORARY TABLE {staged} ({columns}, PRIMARY KEY ({keys}) {replace}) {sorted};
         CREATE TEMPORARY TABLE {differing} (op BIGINT, {columns}, PRIMARY KEY ({keys})) {sorted}"
    ))
}

/// Updates the planner's statistics of these tables, so that it joins them well. Autovacuum skips temporary tables.
pub(crate) fn analyse(db: &mut AnyConnection, tables: &[String]) -> QueryResult<()> {
    match db {
        AnyConnection::Postgres(db) if !tables.is_empty() => {
            db.batch_execute(&format!("ANALYZE {}", tables.join(", ")))
        }
        AnyConnection::Sqlite(_) | AnyConnection::Postgres(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    mod postgres {
        use super::super::*;
        use crate::{connection::Access, postgres::scratch::Scratch, table::staging::merge_of};
        use companion_domain::port::Replace;
        use diesel::sql_types::Text;

        /// Returns the plan of an update of those of 20,000 guilds whose number is divisible.
        fn plan(db: &mut AnyConnection, divisor: u32) -> String {
            let merge = merge_of(Kind::Guild, &Replace::default()).unwrap();
            let differing = merge.table.differing();
            db.batch_execute(&format!(
                "DELETE FROM {differing}; INSERT INTO {differing} SELECT 1, * FROM guilds WHERE id % {divisor} = 0"
            ))
            .unwrap();
            analyse(db, &[differing]).unwrap();
            db.begin_writing(Access::World).unwrap();
            db.assume_cached().unwrap();
            let explain = format!("EXPLAIN {}", merge.update(db));
            let steps: Vec<String> = sql::<Text>(&explain).load(db).unwrap();
            db.roll_back().unwrap();
            steps.join("\n")
        }

        #[test]
        fn finds_few_differing_rows_by_index_and_scans_for_most() {
            let schema = Scratch::new("merge_plan");
            schema.options().migrate().unwrap();
            let mut db = AnyConnection::Postgres(schema.connect());
            create(Kind::Guild, &mut db).unwrap();
            db.batch_execute(
                "INSERT INTO guilds (id, name, members, owner, setup, linked, bindings)
                     SELECT id, 'A guild with a name of some length', 1, 1, true, true, '' FROM generate_series(1, 20000) AS id;
                 ANALYZE guilds",
            )
            .unwrap();
            let few = plan(&mut db, 100);
            assert!(few.contains("Index Scan using guilds_pkey"), "{few}");
            assert!(!few.contains("Seq Scan on guilds"), "{few}");
            let most = plan(&mut db, 1);
            assert!(most.contains("Seq Scan on guilds") || most.contains("Merge Join"), "{most}");
        }
    }
}
