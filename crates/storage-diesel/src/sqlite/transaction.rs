//! Transactions by statements that are prepared once. Diesel's manager has SQLite parse them each time, which takes 3,000
//! instructions of a small write.

use diesel::{
    QueryResult, RunQueryDsl, SqliteConnection,
    connection::{AnsiTransactionManager as Manager, TransactionManager as _},
    query_builder::{AstPass, QueryFragment, QueryId},
    sqlite::Sqlite,
};

/// Begins a transaction that takes the write lock.
pub(crate) fn begin_writing(connection: &mut SqliteConnection) -> QueryResult<()> {
    // Diesel notes a transaction while SQLite runs nothing.
    Manager::begin_transaction_sql(connection, "")?;
    BeginImmediate.execute(connection).map(drop).inspect_err(|_| note_end(connection))
}

/// Commits the transaction or the innermost savepoint. A transaction that fails to commit is rolled back.
pub(crate) fn commit(connection: &mut SqliteConnection) -> QueryResult<()> {
    let depth = Manager::transaction_manager_status_mut(connection).transaction_depth()?;
    if depth.is_none_or(|depth| depth.get() > 1) {
        return Manager::commit_transaction(connection);
    }
    let committed = Commit.execute(connection).map(drop);
    if committed.is_ok() {
        note_end(connection);
    } else {
        // After some errors SQLite has rolled back by itself.
        let _ = Manager::rollback_transaction(connection);
    }
    committed
}

/// Tells Diesel that no transaction is open.
fn note_end(connection: &mut SqliteConnection) {
    *Manager::transaction_manager_status_mut(connection) = Default::default();
}

macro_rules! statements {
    ($($name:ident: $sql:literal)*) => {$(
        #[derive(QueryId)]
        struct $name;

        impl QueryFragment<Sqlite> for $name {
            fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
                out.push_sql($sql);
                Ok(())
            }
        }

        impl RunQueryDsl<SqliteConnection> for $name {}
    )*};
}

statements! {
    BeginImmediate: "BEGIN IMMEDIATE"
    Commit: "COMMIT"
}

#[cfg(test)]
mod tests {
    use super::*;
    use diesel::{Connection as _, connection::SimpleConnection as _, dsl::sql, sql_types::BigInt};

    fn rows(connection: &mut SqliteConnection) -> i64 {
        sql::<BigInt>("SELECT count(*) FROM members").get_result(connection).unwrap()
    }

    #[test]
    fn a_connection_stays_usable_after_a_failed_begin_or_commit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("database").display().to_string();
        let [mut first, mut second] = [(); 2].map(|()| SqliteConnection::establish(&path).unwrap());
        let tables = "PRAGMA foreign_keys = ON; CREATE TABLE guilds (id INTEGER PRIMARY KEY);
             CREATE TABLE members (guild INTEGER REFERENCES guilds DEFERRABLE INITIALLY DEFERRED)";
        first.batch_execute(tables).unwrap();
        begin_writing(&mut first).unwrap();
        begin_writing(&mut second).unwrap_err();
        first.batch_execute("INSERT INTO members VALUES (7)").unwrap();
        let refused = commit(&mut first).unwrap_err();
        assert!(refused.to_string().contains("FOREIGN KEY"), "{refused}");
        for connection in [&mut second, &mut first] {
            assert_eq!(rows(connection), 0, "the failed commit was rolled back");
            begin_writing(connection).unwrap();
            Manager::begin_transaction(connection).unwrap();
            connection
                .batch_execute("INSERT INTO guilds VALUES (7); INSERT INTO members VALUES (7)")
                .unwrap();
            Manager::rollback_transaction(connection).unwrap();
            Manager::begin_transaction(connection).unwrap();
            connection.batch_execute("INSERT INTO members VALUES (NULL)").unwrap();
            commit(connection).unwrap();
            assert_eq!(rows(connection), 1);
            Manager::rollback_transaction(connection).unwrap();
        }
        begin_writing(&mut first).unwrap();
        first.batch_execute("INSERT INTO members VALUES (NULL)").unwrap();
        commit(&mut first).unwrap();
        assert_eq!(rows(&mut second), 1);
    }
}
