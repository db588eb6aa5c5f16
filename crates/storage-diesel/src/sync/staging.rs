//! Staged records: temporary tables of the writer's connection.
//!
//! Each has the columns of the table that it will be merged into, and the number of the sync. A record takes the place
//! of an earlier one with the same key.

use crate::{
    connection::AnyConnection,
    error::Failure,
    row::{
        feedback::FeedbackRow,
        grant::{GrantRow, version_to_column},
        guild::GuildRow,
        member::MemberRow,
        session::SessionRow,
        snowflake::to_column,
        staff::StaffRow,
        subscription::{SubscriptionGuildRow, SubscriptionRow},
        team::TeamRow,
    },
};
use companion_domain::port::{Numbered, Record};
use diesel::{
    ExpressionMethods, OptionalExtension, QueryDsl, QueryResult, RunQueryDsl, connection::SimpleConnection,
};

macro_rules! staged {
    ($($table:ident ($($key:ident),*) $conflict:literal { $($column:ident -> $sql:ident $(<$inner:ident>)?,)* })+) => {
        $(diesel::table! { $table (sync $(,$key)*) { sync -> BigInt, $($column -> $sql $(<$inner>)?,)* } })+

        /// What makes the tables, on a connection that has just been opened.
        pub(crate) const TABLES: &str = concat!($(
            "CREATE TEMPORARY TABLE ", stringify!($table), " (sync INTEGER NOT NULL",
            $(", ", stringify!($column), " ", staged!(@type $sql $($inner)?),)*
            ", PRIMARY KEY (sync", $(", ", stringify!($key),)* ") ON CONFLICT ", $conflict, ") WITHOUT ROWID;\n",
        )+);

        const NAMES: &[&str] = &[$(stringify!($table)),+];
    };
    (@type Nullable $inner:ident) => { staged!(@type $inner) };
    (@type BigInt) => { "INTEGER" };
    (@type Bool) => { "INTEGER" };
    (@type Text) => { "TEXT" };
    (@type Binary) => { "BLOB" };
}

staged! {
    // The syncs that are being staged. One that is not here lost its records.
    staged_syncs () "IGNORE" {}
    staged_guilds (id) "REPLACE" {
        id -> BigInt,
        name -> Text,
        icon -> Nullable<Text>,
        members -> BigInt,
        owner -> BigInt,
        setup -> Bool,
        linked -> Bool,
        bindings -> Text,
    }
    staged_members (guild, user_id) "REPLACE" {
        guild -> BigInt,
        user_id -> BigInt,
        roles -> Text,
    }
    // Where the guild of a member was first named.
    staged_member_guilds (guild) "IGNORE" {
        guild -> BigInt,
        line -> BigInt,
    }
    staged_subscriptions (user_id) "REPLACE" {
        user_id -> BigInt,
        slots -> BigInt,
        guilds -> Text,
    }
    staged_subscription_guilds (user_id, guild) "REPLACE" {
        user_id -> BigInt,
        guild -> BigInt,
    }
    staged_staff (user_id) "REPLACE" {
        user_id -> BigInt,
        grants -> Text,
    }
    staged_blocked (user_id) "REPLACE" {
        user_id -> BigInt,
    }
    staged_team (user_id, category) "REPLACE" {
        user_id -> BigInt,
        category -> Text,
        username -> Text,
        name -> Text,
        avatar -> Text,
        role -> Text,
        color -> Text,
        position -> BigInt,
    }
    staged_feedback (id) "REPLACE" {
        id -> Text,
        message -> Text,
        rating -> BigInt,
        submitted_at -> BigInt,
        submitter_id -> BigInt,
        submitter_username -> Text,
        submitter_name -> Text,
        submitter_avatar -> Text,
        positive -> Bool,
    }
    // Slots that the merge sets free.
    staged_holes (slot) "IGNORE" {
        slot -> BigInt,
    }
    staged_sessions (id) "REPLACE" {
        id -> Binary,
        user_id -> BigInt,
        created_at -> BigInt,
        last_seen_at -> BigInt,
    }
    staged_grants (user_id) "REPLACE" {
        user_id -> BigInt,
        version -> BigInt,
        tokens -> Nullable<Binary>,
        list -> Nullable<Binary>,
        fetched_at -> Nullable<BigInt>,
    }
}

/// Makes a sync known.
pub(crate) fn begin(db: &mut AnyConnection, sync: i64) -> QueryResult<()> {
    diesel::insert_into(staged_syncs::table).values(staged_syncs::sync.eq(sync)).execute(db)?;
    Ok(())
}

/// Refuses to go on with a sync whose records are lost.
pub(crate) fn check(db: &mut AnyConnection, sync: i64) -> Result<(), Failure> {
    let known: Option<i64> =
        staged_syncs::table.find(sync).select(staged_syncs::sync).first(db).optional()?;
    known.map(|_| ()).ok_or(super::INTERRUPTED)
}

/// Clears what a sync has staged. Does nothing where that has happened already.
pub(crate) fn clear(db: &mut AnyConnection, sync: i64) -> QueryResult<()> {
    let syncs: Vec<i64> = staged_syncs::table.select(staged_syncs::sync).load(db)?;
    if !syncs.contains(&sync) {
        return Ok(());
    }
    // Emptying a whole table is much quicker than looking for the rows of one sync.
    let rows = if syncs.len() == 1 { String::new() } else { format!(" WHERE sync = {sync}") };
    let statements: Vec<_> = NAMES.iter().map(|table| format!("DELETE FROM {table}{rows};")).collect();
    db.batch_execute(&statements.concat())
}

/// Records on their way into the staging tables, as rows already.
#[derive(Default)]
pub(super) struct StagedRows(Vec<StagedRow>);

enum StagedRow {
    Guild(GuildRow),
    Member(MemberRow, i64),
    Subscription(SubscriptionRow, Vec<SubscriptionGuildRow>),
    Staff(StaffRow),
    Blocked(i64),
    Feedback(FeedbackRow, bool),
    Team(TeamRow),
    Session(SessionRow),
    Grant(GrantRow),
}

impl FromIterator<Numbered> for StagedRows {
    fn from_iter<I: IntoIterator<Item = Numbered>>(records: I) -> Self {
        Self(records.into_iter().map(StagedRow::from).collect())
    }
}

impl From<Numbered> for StagedRow {
    fn from(Numbered { line, record }: Numbered) -> Self {
        match record {
            Record::Guild(guild) => Self::Guild((&guild).into()),
            Record::Member(member) => Self::Member((&member).into(), line.cast_signed()),
            Record::Subscription(subscription) => Self::Subscription(
                (&subscription).into(),
                SubscriptionGuildRow::all_of(&subscription).collect(),
            ),
            Record::Staff(user, grants) => Self::Staff((user, grants).into()),
            Record::Blocked(user) => Self::Blocked(to_column(user)),
            Record::Feedback(feedback) => Self::Feedback((&feedback).into(), feedback.rating.is_positive()),
            Record::TeamMember(member) => Self::Team((&member).into()),
            Record::Session(session) => Self::Session((&session).into()),
            Record::Grant(user, grant) => {
                Self::Grant(GrantRow::new(user, version_to_column(grant.version), &grant.content))
            }
        }
    }
}

/// Inserts the fields of a row into the columns of the same names.
macro_rules! insert {
    ($db:ident, $table:ident, $sync:ident, $row:ident { $($column:ident),+ } $($more:ident),*) => {
        diesel::insert_into($table::table)
            .values((
                $table::sync.eq($sync),
                $($table::$column.eq($row.$column),)+
                $($table::$more.eq($more),)*
            ))
            .execute($db)?
    };
}

impl StagedRows {
    pub(super) fn insert(self, db: &mut AnyConnection, sync: i64) -> QueryResult<()> {
        let mut named_before = None;
        for row in self.0 {
            if let StagedRow::Member(member, line) = &row {
                // Members mostly come guild by guild, so naming a guild again right after is not worth a statement.
                if named_before.replace(member.guild) != Some(member.guild) {
                    insert!(db, staged_member_guilds, sync, member { guild } line);
                }
            }
            row.insert(db, sync)?;
        }
        Ok(())
    }
}

impl StagedRow {
    fn insert(self, db: &mut AnyConnection, sync: i64) -> QueryResult<()> {
        match self {
            Self::Guild(row) => {
                insert!(
                    db,
                    staged_guilds,
                    sync,
                    row { id, name, icon, members, owner, setup, linked, bindings }
                )
            }
            Self::Member(row, _) => insert!(db, staged_members, sync, row { guild, user_id, roles }),
            Self::Subscription(row, guilds) => {
                let earlier = staged_subscription_guilds::table
                    .filter(staged_subscription_guilds::sync.eq(sync))
                    .filter(staged_subscription_guilds::user_id.eq(row.user_id));
                diesel::delete(earlier).execute(db)?;
                for named in guilds {
                    insert!(db, staged_subscription_guilds, sync, named { user_id, guild });
                }
                insert!(db, staged_subscriptions, sync, row { user_id, slots, guilds })
            }
            Self::Staff(row) => insert!(db, staged_staff, sync, row { user_id, grants }),
            Self::Blocked(user_id) => diesel::insert_into(staged_blocked::table)
                .values((staged_blocked::sync.eq(sync), staged_blocked::user_id.eq(user_id)))
                .execute(db)?,
            Self::Feedback(row, positive) => insert!(
                db, staged_feedback, sync,
                row {
                    id, message, rating, submitted_at,
                    submitter_id, submitter_username, submitter_name, submitter_avatar
                }
                positive
            ),
            Self::Team(row) => insert!(
                db,
                staged_team,
                sync,
                row { user_id, category, username, name, avatar, role, color, position }
            ),
            Self::Session(row) => {
                insert!(db, staged_sessions, sync, row { id, user_id, created_at, last_seen_at })
            }
            Self::Grant(row) => {
                insert!(db, staged_grants, sync, row { user_id, version, tokens, list, fetched_at })
            }
        };
        Ok(())
    }
}
