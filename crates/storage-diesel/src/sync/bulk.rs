//! Staging many rows with one statement for each table: a column is sent as one array.

use super::{
    staging::{
        BLOCKED, FEEDBACK, GRANTS, GUILDS, MEMBER_GUILDS, MEMBERS, SESSIONS, STAFF, SUBSCRIPTION_GUILDS,
        SUBSCRIPTIONS, StagedRow, StagedRows, TEAM, staged_blocked, staged_feedback, staged_grants,
        staged_guilds, staged_member_guilds, staged_members, staged_sessions, staged_staff,
        staged_subscription_guilds, staged_subscriptions, staged_team,
    },
    table::{Again, Staged},
};
use crate::row::{
    feedback::FeedbackRow,
    grant::GrantRow,
    guild::GuildRow,
    member::MemberRow,
    session::SessionRow,
    staff::StaffRow,
    subscription::{SubscriptionGuildRow, SubscriptionRow},
    team::TeamRow,
};
use diesel::{
    PgConnection, QueryResult, RunQueryDsl,
    dsl::SqlTypeOf,
    sql_query,
    sql_types::{Array, BigInt},
};
use std::collections::{HashMap, HashSet};

/// Stages rows. One takes the place of an earlier one with the same key.
pub(super) fn insert(rows: StagedRows, db: &mut PgConnection) -> QueryResult<()> {
    Batch::from(rows).insert(db)
}

/// Rows by the table that they belong to, without those that a later one replaces: a statement may not meet the same
/// key twice.
#[derive(Default)]
struct Batch {
    guilds: HashMap<i64, GuildRow>,
    members: HashMap<(i64, i64), MemberRow>,
    /// On which line the guild of a member was first named.
    member_guilds: HashMap<i64, i64>,
    subscriptions: HashMap<i64, (SubscriptionRow, Vec<SubscriptionGuildRow>)>,
    staff: HashMap<i64, StaffRow>,
    blocked: HashSet<i64>,
    feedback: HashMap<String, (FeedbackRow, bool)>,
    team: HashMap<(i64, String), TeamRow>,
    sessions: HashMap<Vec<u8>, SessionRow>,
    grants: HashMap<i64, GrantRow>,
}

impl From<StagedRows> for Batch {
    fn from(StagedRows(rows): StagedRows) -> Self {
        let mut batch = Self::default();
        for row in rows {
            match row {
                StagedRow::Guild(row) => {
                    batch.guilds.insert(row.id, row);
                }
                StagedRow::Member(row, line) => {
                    batch.member_guilds.entry(row.guild).or_insert(line);
                    batch.members.insert((row.guild, row.user_id), row);
                }
                StagedRow::Subscription(row, guilds) => {
                    batch.subscriptions.insert(row.user_id, (row, guilds));
                }
                StagedRow::Staff(row) => {
                    batch.staff.insert(row.user_id, row);
                }
                StagedRow::Blocked(user_id) => {
                    batch.blocked.insert(user_id);
                }
                StagedRow::Feedback(row, positive) => {
                    batch.feedback.insert(row.id.clone(), (row, positive));
                }
                StagedRow::Team(row) => {
                    batch.team.insert((row.user_id, row.category.clone()), row);
                }
                StagedRow::Session(row) => {
                    batch.sessions.insert(row.id.clone(), row);
                }
                StagedRow::Grant(row) => {
                    batch.grants.insert(row.user_id, row);
                }
            }
        }
        batch
    }
}

/// Sends rows to a table, each column as one array.
macro_rules! send {
    (
        $db:ident: $staged:ident = $table:ident,
        for $row:ident in $rows:expr => $($column:ident: $value:expr),+ $(,)?
    ) => {
        let rows: Vec<_> = $rows.collect();
        if !rows.is_empty() {
            sql_query(statement(&$staged, &[$(stringify!($column)),+]))
                $(.bind::<Array<SqlTypeOf<$table::$column>>, _>(
                    rows.iter().map(|$row| $value).collect::<Vec<_>>(),
                ))+
                .execute($db)?;
        }
    };
}

fn statement(Staged { name, keys, again, .. }: &Staged, columns: &[&str]) -> String {
    let arrays: Vec<_> = (1..=columns.len()).map(|place| format!("${place}")).collect();
    let values = columns.iter().filter(|column| !keys.contains(column));
    let values: Vec<_> = values.map(|column| format!("{column} = excluded.{column}")).collect();
    let again = match again {
        Again::Replaces if !values.is_empty() => format!("UPDATE SET {}", values.join(", ")),
        Again::Replaces | Again::IsIgnored => "NOTHING".to_owned(),
    };
    format!(
        "INSERT INTO {name} ({}) SELECT * FROM unnest({}) ON CONFLICT ({}) DO {again}",
        columns.join(", "),
        arrays.join(", "),
        keys.join(", "),
    )
}

impl Batch {
    fn insert(self, db: &mut PgConnection) -> QueryResult<()> {
        self.insert_guilds(db)?;
        self.insert_people(db)?;
        self.insert_subscriptions(db)?;
        self.insert_sessions(db)
    }

    fn insert_guilds(&self, db: &mut PgConnection) -> QueryResult<()> {
        send! {
            db: GUILDS = staged_guilds, for row in self.guilds.values() =>
            id: row.id, name: &row.name, icon: &row.icon, members: row.members, owner: row.owner,
            setup: row.setup, linked: row.linked, bindings: &row.bindings
        }
        send! {
            db: MEMBERS = staged_members, for row in self.members.values() =>
            guild: row.guild, user_id: row.user_id, roles: &row.roles
        }
        send! {
            db: MEMBER_GUILDS = staged_member_guilds, for row in self.member_guilds.iter() =>
            guild: row.0, line: row.1
        }
        Ok(())
    }

    fn insert_people(&self, db: &mut PgConnection) -> QueryResult<()> {
        send! {
            db: STAFF = staged_staff, for row in self.staff.values() =>
            user_id: row.user_id, grants: &row.grants
        }
        send! {
            db: BLOCKED = staged_blocked, for user in self.blocked.iter() =>
            user_id: user
        }
        send! {
            db: TEAM = staged_team, for row in self.team.values() =>
            user_id: row.user_id, category: &row.category, username: &row.username, name: &row.name,
            avatar: &row.avatar, role: &row.role, color: &row.color, position: row.position
        }
        send! {
            db: FEEDBACK = staged_feedback, for row in self.feedback.values() =>
            id: &row.0.id, message: &row.0.message, rating: row.0.rating, submitted_at: row.0.submitted_at,
            submitter_id: row.0.submitter_id, submitter_username: &row.0.submitter_username,
            submitter_name: &row.0.submitter_name, submitter_avatar: &row.0.submitter_avatar, positive: row.1
        }
        Ok(())
    }

    fn insert_subscriptions(&self, db: &mut PgConnection) -> QueryResult<()> {
        if self.subscriptions.is_empty() {
            return Ok(());
        }
        // The guilds that an earlier record of the same subscription named do not count any more.
        let users: Vec<_> = self.subscriptions.keys().collect();
        sql_query("DELETE FROM staged_subscription_guilds WHERE user_id = ANY($1)")
            .bind::<Array<BigInt>, _>(users)
            .execute(db)?;
        let named = self.subscriptions.values().flat_map(|(_, guilds)| guilds);
        send! {
            db: SUBSCRIPTION_GUILDS = staged_subscription_guilds, for row in named =>
            user_id: row.user_id, guild: row.guild
        }
        let subscriptions = self.subscriptions.values().map(|(row, _)| row);
        send! {
            db: SUBSCRIPTIONS = staged_subscriptions, for row in subscriptions =>
            user_id: row.user_id, slots: row.slots, guilds: &row.guilds
        }
        Ok(())
    }

    fn insert_sessions(&self, db: &mut PgConnection) -> QueryResult<()> {
        send! {
            db: SESSIONS = staged_sessions, for row in self.sessions.values() =>
            id: &row.id, user_id: row.user_id, created_at: row.created_at, last_seen_at: row.last_seen_at
        }
        send! {
            db: GRANTS = staged_grants, for row in self.grants.values() =>
            user_id: row.user_id, version: row.version, tokens: &row.tokens, list: &row.list,
            fetched_at: row.fetched_at
        }
        Ok(())
    }
}
