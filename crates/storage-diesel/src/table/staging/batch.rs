//! Rows that a sync stages.

use super::kinds::stage_named_guilds;
use crate::{
    connection::AnyConnection,
    schema::tables,
    table::{
        row::{
            BlockedRow, FeedbackRow, GrantRow, GuildRow, MemberRow, NoticeRow, OutlineRow, PeriodRow, Row,
            RowKey, SchemaRow, SessionRow, SettingsEditRow, SettingsRow, StaffRow, SubscriptionGuildRow,
            SubscriptionRow, TeamRow,
        },
        subscriptions,
    },
};
use companion_domain::{
    change::Kind,
    port::{Numbered, Record},
};
use diesel::{
    Connection, ExpressionMethods, PgConnection, QueryResult, RunQueryDsl, SqliteConnection, sql_query,
    sql_types::{Array, BigInt, Binary, Bool, Nullable, Text},
};
use std::collections::{BTreeMap, BTreeSet};

/// Rows of one table, the last one per key. Ordered by key, which is the fastest order to fill an index in.
type Rows<R> = BTreeMap<RowKey, R>;

#[derive(Default)]
pub(crate) struct RecordBatch {
    kinds: BTreeSet<Kind>,
    guilds: Rows<GuildRow>,
    members: Rows<MemberRow>,
    outlines: Rows<OutlineRow>,
    /// The line on which the guild of a member or an outline was first named.
    named_guilds: BTreeMap<i64, i64>,
    subscriptions: Rows<SubscriptionRow>,
    /// The guilds that each subscription names.
    subscription_guilds: BTreeMap<i64, Vec<SubscriptionGuildRow>>,
    staff: Rows<StaffRow>,
    blocked: Rows<BlockedRow>,
    feedback: Rows<FeedbackRow>,
    team: Rows<TeamRow>,
    schema: Rows<SchemaRow>,
    settings: Rows<SettingsRow>,
    settings_edits: Rows<SettingsEditRow>,
    notices: Rows<NoticeRow>,
    periods: Rows<PeriodRow>,
    sessions: Rows<SessionRow>,
    grants: Rows<GrantRow>,
}

impl FromIterator<Numbered> for RecordBatch {
    fn from_iter<I: IntoIterator<Item = Numbered>>(records: I) -> Self {
        let mut batch = Self::default();
        for Numbered { line, record } in records {
            batch.kinds.insert(record.kind());
            batch.take(line, record);
        }
        batch
    }
}

impl RecordBatch {
    /// Returns the kinds of the rows in the batch.
    pub(crate) const fn kinds(&self) -> &BTreeSet<Kind> {
        &self.kinds
    }

    fn take(&mut self, line: u64, record: Record) {
        match record {
            Record::Guild(guild) => take(&mut self.guilds, GuildRow::from(&guild)),
            Record::Member(member) => {
                let row = MemberRow::from(&member);
                self.named_guilds.entry(row.guild).or_insert(line.cast_signed());
                take(&mut self.members, row);
            }
            Record::Outline(outline) => {
                let row = OutlineRow::from(&outline);
                self.named_guilds.entry(row.guild).or_insert(line.cast_signed());
                take(&mut self.outlines, row);
            }
            Record::Subscription(subscription) => {
                let row = SubscriptionRow::from(&subscription);
                let guilds = subscriptions::named_guilds(&subscription).collect();
                self.subscription_guilds.insert(row.user_id, guilds);
                take(&mut self.subscriptions, row);
            }
            Record::Staff(user, grants) => take(&mut self.staff, StaffRow::from((user, grants))),
            Record::Blocked(user) => take(&mut self.blocked, BlockedRow::from(user)),
            Record::Feedback(feedback) => take(&mut self.feedback, FeedbackRow::from(&feedback)),
            Record::Team(member) => take(&mut self.team, TeamRow::from(&member)),
            Record::Schema(schema) => take(&mut self.schema, SchemaRow::from(&schema)),
            Record::Settings(guild, stored) => take(&mut self.settings, SettingsRow::from((guild, &stored))),
            Record::SettingsEdit(entry) => take(&mut self.settings_edits, SettingsEditRow::from(&entry)),
            Record::Notice(notice) => take(&mut self.notices, NoticeRow::from(&notice)),
            Record::Period(period) => take(&mut self.periods, PeriodRow::from(&period)),
            Record::Session(session) => take(&mut self.sessions, SessionRow::from(&session)),
            Record::Grant(user, grant) => take(&mut self.grants, GrantRow::from((user, &grant))),
        }
    }

    /// Stages all rows in one transaction.
    pub(crate) fn stage(self, db: &mut AnyConnection) -> QueryResult<()> {
        db.transaction(|db| {
            stage(self.guilds, db)?;
            stage(self.members, db)?;
            stage(self.outlines, db)?;
            stage_named_guilds(self.named_guilds, db)?;
            stage(self.subscriptions, db)?;
            stage_subscription_guilds(self.subscription_guilds, db)?;
            stage(self.staff, db)?;
            stage(self.blocked, db)?;
            stage(self.feedback, db)?;
            stage(self.team, db)?;
            stage(self.schema, db)?;
            stage(self.settings, db)?;
            stage(self.settings_edits, db)?;
            stage(self.notices, db)?;
            stage(self.periods, db)?;
            stage(self.sessions, db)?;
            stage(self.grants, db)
        })
    }
}

fn take<R: StagedRow>(rows: &mut Rows<R>, row: R) {
    rows.insert(row.key(), row);
}

/// Replaces the guilds named by earlier records of the same subscriptions.
fn stage_subscription_guilds(
    named: BTreeMap<i64, Vec<SubscriptionGuildRow>>,
    db: &mut AnyConnection,
) -> QueryResult<()> {
    if named.is_empty() {
        return Ok(());
    }
    let users: Vec<_> = named.keys().map(i64::to_string).collect();
    let (staged, users) = (SubscriptionGuildRow::TABLE.staged, users.join(", "));
    sql_query(format!("DELETE FROM {staged} WHERE user_id IN ({users})")).execute(db)?;
    stage(named.into_values().flatten().map(|row| (row.key(), row)).collect(), db)
}

/// A row that a sync carries.
pub(super) trait StagedRow: Row {
    /// Stages a row with a statement that is prepared once. SQLite needs no round trip per statement.
    fn stage_one(self, db: &mut SqliteConnection) -> QueryResult<usize>;

    /// Stages rows of distinct keys with one statement, each column as one array.
    fn stage_all(rows: &[Self], db: &mut PgConnection) -> QueryResult<usize>;
}

macro_rules! staged_rows {
    ($($table:ident $keys:tt $rows:tt $columns:tt $(+ $beside:tt)?)+) => {
        $(staged_rows! { @table $keys $rows $columns })+
    };
    (
        @table $keys:tt [$row:ident, $staged:ident]
        { $($column:ident -> $sql:ident $(<$inner:ident>)?,)+ }
    ) => {
        diesel::table! { $staged $keys { $($column -> $sql $(<$inner>)?,)+ } }

        impl StagedRow for $row {
            fn stage_one(self, db: &mut SqliteConnection) -> QueryResult<usize> {
                let values = ($($staged::$column.eq(self.$column),)+);
                diesel::insert_into($staged::table).values(values).execute(db)
            }

            fn stage_all(rows: &[Self], db: &mut PgConnection) -> QueryResult<usize> {
                sql_query(insert_arrays::<Self>())
                    $(.bind::<Array<$sql $(<$inner>)?>, _>(
                        rows.iter().map(|row| &row.$column).collect::<Vec<_>>(),
                    ))+
                    .execute(db)
            }
        }
    };
    (@table $keys:tt $rows:tt $columns:tt) => {};
}

tables!(staged_rows);

fn insert_arrays<R: Row>() -> String {
    let columns: Vec<_> = R::TABLE.names().collect();
    let arrays: Vec<_> = (1..=columns.len()).map(|index| format!("${index}")).collect();
    let replaced: Vec<_> = R::TABLE.values().map(|column| format!("{column} = excluded.{column}")).collect();
    let replace = if replaced.is_empty() {
        "NOTHING".to_owned()
    } else {
        format!("UPDATE SET {}", replaced.join(", "))
    };
    format!(
        "INSERT INTO {} ({}) SELECT * FROM unnest({}) ON CONFLICT ({}) DO {replace}",
        R::TABLE.staged,
        columns.join(", "),
        arrays.join(", "),
        R::TABLE.keys.join(", "),
    )
}

/// Stages rows. A row replaces an earlier one with the same key.
pub(super) fn stage<R: StagedRow>(rows: BTreeMap<RowKey, R>, db: &mut AnyConnection) -> QueryResult<()> {
    match db {
        AnyConnection::Sqlite(db) => rows.into_values().try_for_each(|row| row.stage_one(db).map(drop)),
        AnyConnection::Postgres(db) => {
            let rows: Vec<_> = rows.into_values().collect();
            if rows.is_empty() { Ok(()) } else { R::stage_all(&rows, db).map(drop) }
        }
    }
}
