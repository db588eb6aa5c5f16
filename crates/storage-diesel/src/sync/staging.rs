//! Staged records: temporary tables of one connection.
//!
//! Each has the columns of the table that it will be merged into, and the number of the sync. A record takes the place
//! of an earlier one with the same key.

use crate::row::{
    feedback::FeedbackRow,
    grant::{GrantRow, version_to_column},
    guild::GuildRow,
    member::MemberRow,
    session::SessionRow,
    snowflake::to_column,
    staff::StaffRow,
    subscription::{SubscriptionGuildRow, SubscriptionRow},
    team::TeamRow,
};
use companion_domain::port::{Numbered, Record};

macro_rules! staged {
    ($($table:ident ($($key:ident),*) $conflict:literal { $($column:ident -> $sql:ident $(<$inner:ident>)?,)* })+) => {
        $(diesel::table! { $table (sync $(,$key)*) { sync -> BigInt, $($column -> $sql $(<$inner>)?,)* } })+

        /// What makes the tables on SQLite, on a connection that has just been opened.
        #[cfg(feature = "sqlite")]
        pub(crate) const SQLITE_TABLES: &str = concat!($(
            "CREATE TEMPORARY TABLE ", stringify!($table), " (sync INTEGER NOT NULL",
            $(", ", stringify!($column), " ", staged!(@type $sql $($inner)?),)*
            ", PRIMARY KEY (sync", $(", ", stringify!($key),)* ") ON CONFLICT ", $conflict, ") WITHOUT ROWID;\n",
        )+);

        /// The same on PostgreSQL, which has no tables that replace rows by themselves.
        #[cfg(feature = "postgres")]
        pub(crate) const POSTGRES_TABLES: &str = concat!($(
            "CREATE TEMPORARY TABLE ", stringify!($table), " (sync BIGINT NOT NULL",
            $(", ", stringify!($column), " ", staged!(@server_type $sql $($inner)?),)*
            ", PRIMARY KEY (sync", $(", ", stringify!($key),)* "));\n",
        )+);

        pub(super) const NAMES: &[&str] = &[$(stringify!($table)),+];
    };
    (@server_type Nullable $inner:ident) => { staged!(@server_type $inner) };
    (@server_type BigInt) => { "BIGINT" };
    (@server_type Bool) => { "BOOLEAN" };
    (@server_type Text) => { "TEXT COLLATE \"C\"" };
    (@server_type Binary) => { "BYTEA" };
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

/// Records on their way into the staging tables, as rows already.
#[derive(Default)]
pub(super) struct StagedRows(pub(super) Vec<StagedRow>);

pub(super) enum StagedRow {
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
