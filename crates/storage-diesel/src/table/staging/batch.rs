//! Rows that a sync stages.

use super::kinds::stage_named_guilds;
use crate::{
    connection::AnyConnection,
    schema::ColumnType,
    table::{
        column::Field as _,
        records::{into_row, table_of},
        row::{Columns as _, RowKey, Sql, SubscriptionGuildRow, Table, Value, each},
        subscriptions,
    },
};
use companion_domain::{
    change::Kind,
    port::{Numbered, Record},
};
use diesel::{
    Connection, PgConnection, QueryResult, RunQueryDsl,
    pg::Pg,
    sql_query,
    sql_types::{Array, BigInt, Binary, Bool, Nullable, Text},
};
use std::collections::{BTreeMap, BTreeSet};

/// Rows of one table, the last one per key. Ordered by key, which is the fastest order to fill an index in.
type Rows = BTreeMap<RowKey, Vec<Value>>;

#[derive(Default)]
pub(crate) struct RecordBatch {
    rows: BTreeMap<Kind, Rows>,
    /// The line on which the guild of a member or an outline was first named.
    named_guilds: BTreeMap<i64, i64>,
    /// The guilds that each subscription names.
    subscription_guilds: BTreeMap<i64, Vec<SubscriptionGuildRow>>,
}

impl RecordBatch {
    pub(crate) fn of(records: Vec<Numbered>) -> Self {
        let mut batch = Self::default();
        for Numbered { line, record } in records {
            batch.take(line, record);
        }
        batch
    }

    /// Returns the kinds of the rows in the batch.
    pub(crate) fn kinds(&self) -> BTreeSet<Kind> {
        self.rows.keys().copied().collect()
    }

    fn take(&mut self, line: u64, record: Record) {
        let key = record.key();
        if let Some(guild) = key.guild() {
            self.named_guilds.entry(guild.column()).or_insert(line.cast_signed());
        }
        if let Record::Subscription(subscription) = &record {
            let guilds = subscriptions::named_guilds(subscription).collect();
            self.subscription_guilds.insert(subscription.user.column(), guilds);
        }
        self.rows.entry(key.kind()).or_default().insert(RowKey::from(&key), into_row(record));
    }

    /// Stages all rows in one transaction.
    pub(crate) fn stage(self, db: &mut AnyConnection) -> QueryResult<()> {
        db.transaction(|db| {
            for (kind, rows) in self.rows {
                if let Some(table) = table_of(kind) {
                    stage(table, rows.into_values().collect(), db)?;
                }
            }
            stage_named_guilds(self.named_guilds, db)?;
            stage_subscription_guilds(self.subscription_guilds, db)
        })
    }
}

/// Replaces the guilds named by earlier records of the same subscriptions.
fn stage_subscription_guilds(
    named: BTreeMap<i64, Vec<SubscriptionGuildRow>>,
    db: &mut AnyConnection,
) -> QueryResult<()> {
    if named.is_empty() {
        return Ok(());
    }
    let table = SubscriptionGuildRow::TABLE;
    let users: Vec<_> = named.keys().map(i64::to_string).collect();
    sql_query(format!("DELETE FROM {} WHERE user_id IN ({})", table.staged, users.join(", "))).execute(db)?;
    let rows: Rows = named.into_values().flatten().map(|row| (row.key(), row.into_values())).collect();
    stage(table, rows.into_values().collect(), db)
}

/// Stages rows of distinct keys. A row replaces an earlier one with the same key.
fn stage(table: &Table, rows: Vec<Vec<Value>>, db: &mut AnyConnection) -> QueryResult<()> {
    if let AnyConnection::Postgres(db) = db {
        return if rows.is_empty() { Ok(()) } else { stage_arrays(table, &rows, db) };
    }
    // SQLite needs no round trip per statement.
    let insert = Sql::new(&table.insert_into(table.staged));
    rows.into_iter().try_for_each(|row| insert.execute::<()>(&row, db).map(drop))
}

/// Stages rows with one statement, each column as one array.
fn stage_arrays(table: &Table, rows: &[Vec<Value>], db: &mut PgConnection) -> QueryResult<()> {
    /// Returns the values of a column, all of which have the same type.
    macro_rules! values {
        ($type:ident, $column:ident) => {
            $column
                .map(|value| if let Some(Value::$type(value)) = value { value.as_ref() } else { None })
                .collect::<Vec<_>>()
        };
    }
    let insert = insert_arrays(table);
    let mut query = sql_query(insert).into_boxed::<Pg>();
    for (index, column) in table.columns.iter().enumerate() {
        let values = rows.iter().map(|row| row.get(index));
        query = match column.holds {
            ColumnType::BigInt => query.bind::<Array<Nullable<BigInt>>, _>(values!(BigInt, values)),
            ColumnType::Bool => query.bind::<Array<Nullable<Bool>>, _>(values!(Bool, values)),
            ColumnType::Text => query.bind::<Array<Nullable<Text>>, _>(values!(Text, values)),
            ColumnType::Binary => query.bind::<Array<Nullable<Binary>>, _>(values!(Binary, values)),
        };
    }
    query.execute(db).map(drop)
}

fn insert_arrays(table: &Table) -> String {
    let arrays: Vec<_> = (1..=table.columns.len()).map(|index| format!("${index}")).collect();
    let replaced = each(table.values(), "{} = excluded.{}", ", ");
    let replace = if replaced.is_empty() { "NOTHING".to_owned() } else { format!("UPDATE SET {replaced}") };
    format!(
        "INSERT INTO {} ({}) SELECT * FROM unnest({}) ON CONFLICT ({}) DO {replace}",
        table.staged,
        each(table.names(), "{}", ", "),
        arrays.join(", "),
        table.keys.join(", "),
    )
}
