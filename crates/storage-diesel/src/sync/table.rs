//! Temporary tables, as each database makes them.

use crate::connection::AnyConnection;
use diesel::{QueryResult, connection::SimpleConnection};

/// A table that records are staged in.
pub(super) struct Staged {
    pub(super) name: &'static str,
    /// What makes a row the same row.
    pub(super) keys: &'static [&'static str],
    /// The columns of the table that it is merged into, the keys among them.
    pub(super) columns: &'static [(&'static str, Type)],
    /// What the merge wants to know besides.
    pub(super) beside: &'static [(&'static str, Type)],
    pub(super) again: Again,
}

/// What becomes of a row whose key was staged before.
#[derive(Clone, Copy)]
pub(super) enum Again {
    Replaces,
    IsIgnored,
}

/// What a column holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    Number,
    Flag,
    Text,
    Bytes,
}

impl Staged {
    /// The name of the table of the rows that differ from what is stored: each with its fate.
    pub(super) fn differing(&self) -> String {
        format!("{}_differing", self.name)
    }

    /// The names of the columns that it shares with the table that it is merged into.
    pub(super) fn shared(&self) -> impl Iterator<Item = &'static str> {
        self.columns.iter().map(|(name, _)| *name)
    }

    /// The same without the keys.
    pub(super) fn values(&self) -> impl Iterator<Item = &'static str> {
        let keys = self.keys;
        self.shared().filter(move |name| !keys.contains(name))
    }

    /// Makes both tables.
    pub(super) fn create(&self, db: &mut AnyConnection) -> QueryResult<()> {
        let statements = match db {
            #[cfg(feature = "sqlite")]
            AnyConnection::Sqlite(_) => self.for_sqlite(),
            #[cfg(feature = "postgres")]
            AnyConnection::Postgres(_) => self.for_postgres(),
        };
        db.batch_execute(&statements)
    }

    #[cfg(feature = "sqlite")]
    fn for_sqlite(&self) -> String {
        let columns = self.definitions(|holds| match holds {
            Type::Number | Type::Flag => "INTEGER",
            Type::Text => "TEXT",
            Type::Bytes => "BLOB",
        });
        let again = match self.again {
            Again::Replaces => "REPLACE",
            Again::IsIgnored => "IGNORE",
        };
        // A lone number is what such a table is sorted by anyway, and the quickest way to find a row.
        let number = |key| self.columns.iter().any(|(name, holds)| *name == key && *holds == Type::Number);
        let sorted = if matches!(self.keys, [key] if number(*key)) { "" } else { "WITHOUT ROWID" };
        let (name, differing, keys) = (self.name, self.differing(), self.keys.join(", "));
        format!(
            "CREATE TEMPORARY TABLE {name} ({columns}, PRIMARY KEY ({keys}) ON CONFLICT {again}) {sorted};
             CREATE TEMPORARY TABLE {differing} (fate INTEGER, {columns}, PRIMARY KEY ({keys})) {sorted}"
        )
    }

    #[cfg(feature = "postgres")]
    fn for_postgres(&self) -> String {
        let columns = self.definitions(|holds| match holds {
            Type::Number => "BIGINT",
            Type::Flag => "BOOLEAN",
            Type::Text => "TEXT COLLATE \"C\"",
            Type::Bytes => "BYTEA",
        });
        let (name, differing, keys) = (self.name, self.differing(), self.keys.join(", "));
        format!(
            "CREATE TEMPORARY TABLE {name} ({columns}, PRIMARY KEY ({keys}));
             CREATE TEMPORARY TABLE {differing} (fate BIGINT, {columns}, PRIMARY KEY ({keys}))"
        )
    }

    fn definitions(&self, named: impl Fn(Type) -> &'static str) -> String {
        let columns = self.columns.iter().chain(self.beside);
        let columns: Vec<_> = columns.map(|(name, holds)| format!("{name} {}", named(*holds))).collect();
        columns.join(", ")
    }
}

/// Lets a server know how much is in these tables, so that it joins them in the right way. Nobody else does it for
/// temporary ones.
pub(super) fn analyse(db: &mut AnyConnection, tables: &[String]) -> QueryResult<()> {
    match db {
        #[cfg(feature = "sqlite")]
        AnyConnection::Sqlite(_) => {
            let _ = tables;
            Ok(())
        }
        #[cfg(feature = "postgres")]
        AnyConnection::Postgres(db) if !tables.is_empty() => {
            db.batch_execute(&format!("ANALYZE {}", tables.join(", ")))
        }
        #[cfg(feature = "postgres")]
        AnyConnection::Postgres(_) => Ok(()),
    }
}
