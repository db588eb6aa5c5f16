//! Records of every kind: how each is found, put and removed by its key.

use super::{
    column::Field as _,
    feedback, guilds,
    history::Write,
    row::{self, Columns as _, Row as _, RowKey, Sql, Table, Value},
    subscriptions,
    unreadable::Unreadable,
};
use crate::{
    connection::AnyConnection,
    failure::{RowError, WorkError},
    schema::tables,
};
use companion_domain::{
    change::{Key, Kind, Tally},
    model::Member,
    port::Record,
};
use diesel::QueryResult;
use std::sync::Arc;

/// A row, and the record that it holds.
pub(crate) struct Loaded {
    pub(crate) key: RowKey,
    pub(crate) record: Result<Record, RowError>,
}

macro_rules! records {
    (
        $($table:ident $keys:tt
        [$($row:ident $(, $staged:ident $(, $kind:ident ($($field:ident),+))?)?)?] $columns:tt $(+ $beside:tt)?)+
    ) => {
        /// Returns the table of a kind, or `None` if no record has this kind.
        pub(crate) const fn table_of(kind: Kind) -> Option<&'static Table> {
            match kind {
                $($($($(Kind::$kind => Some(row::$row::TABLE),)?)?)?)+
                Kind::Applied | Kind::Cluster => None,
            }
        }

        impl From<&Key> for RowKey {
            fn from(key: &Key) -> Self {
                Self(match key {
                    $($($($(Key::$kind $keys => records!(@columns $keys),)?)?)?)+
                })
            }
        }

        fn put_row(record: Record, db: &mut AnyConnection) -> QueryResult<Tally> {
            match record {
                $($($($(Record::$kind($($field),+) => row::$row::of(&($($field),+)).put(db),)?)?)?)+
            }
        }

        /// Returns the row of a record.
        pub(crate) fn into_row(record: Record) -> Vec<Value> {
            match record {
                $($($($(Record::$kind($($field),+) => row::$row::of(&($($field),+)).into_values(),)?)?)?)+
            }
        }

        /// Returns the records of a statement that selects all columns of a kind.
        #[expect(unused_parens, reason = "a record of a single field is no tuple")]
        pub(crate) fn load(
            db: &mut AnyConnection,
            kind: Kind,
            (sql, values): (&Sql, Vec<Value>),
            unreadable: &Unreadable,
        ) -> QueryResult<Vec<Loaded>> {
            Ok(match kind {
                $($($($(Kind::$kind => {
                    let loaded = |row: row::$row| {
                        let record = row.read(unreadable);
                        let record = record.map(|($($field),+)| Record::$kind($($field),+));
                        Loaded { key: row.key(), record }
                    };
                    row::$row::load::<()>(db, sql, values)?.into_iter().map(loaded).collect()
                })?)?)?)+
                Kind::Applied | Kind::Cluster => Vec::new(),
            })
        }
    };
    (@columns ($($key:ident),+)) => { vec![$($key.column().into()),+] };
}

tables!(records);

pub(crate) fn find(
    db: &mut AnyConnection,
    key: &Key,
    unreadable: &Unreadable,
) -> Result<Option<Record>, WorkError> {
    if let Key::Member(guild, user) = key {
        let seen = guilds::with_roles(db, *user, &[*guild], unreadable)?.pop();
        let member =
            |roles| Record::Member(Member { guild: *guild, user: *user, roles: Arc::unwrap_or_clone(roles) });
        return Ok(seen.map(|seen| member(seen.roles)));
    }
    let (kind, RowKey(values)) = (key.kind(), key.into());
    let Some(table) = table_of(kind) else { return Ok(None) };
    let Some(found) = load(db, kind, (&table.statements.select, values), unreadable)?.pop() else {
        return Ok(None);
    };
    Ok(match kind {
        // An absent grant would be revoked, and absent settings overwritten.
        Kind::Grant | Kind::Settings => Some(found.record?),
        _ => unreadable.accept(|| found.key, found.record),
    })
}

pub(crate) fn put(write: &mut Write<'_>, record: Record) -> Result<Tally, WorkError> {
    match record {
        Record::Subscription(subscription) => subscriptions::put(write, &subscription),
        Record::Feedback(entry) => feedback::put(write, &entry),
        record => {
            let key = record.key();
            let tally = put_row(record, write.db)?;
            Ok(write.noted(tally, || key.subject()))
        }
    }
}

pub(crate) fn remove(write: &mut Write<'_>, key: &Key) -> Result<Tally, WorkError> {
    match key {
        Key::Guild(guild) => guilds::remove(write, *guild),
        Key::Feedback(id) => feedback::remove(write, id.as_str()),
        key => remove_row(write, key),
    }
}

/// Removes a row and nothing else.
pub(super) fn remove_row(write: &mut Write<'_>, key: &Key) -> Result<Tally, WorkError> {
    let Some(table) = table_of(key.kind()) else { return Ok(Tally::NOTHING) };
    let tally = table.delete(write.db, RowKey::from(key))?;
    Ok(write.noted(tally, || key.subject()))
}
