//! Staged records: temporary tables of one connection.
//!
//! Each has the columns of the table that it will be merged into. A record takes the place of an earlier one with the
//! same key. Beside it is a table of the rows in which the two differ.

use super::table::{Again, Staged, Type};
use crate::{
    connection::AnyConnection,
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
use companion_domain::{
    change::Kind,
    port::{Numbered, Record},
};
#[cfg(feature = "sqlite")]
use diesel::Connection;
use diesel::QueryResult;
use std::collections::BTreeSet;

macro_rules! staged {
    ($(
        $constant:ident = $table:ident ($($key:ident),+), again $again:ident {
            $($column:ident -> $sql:ident $(<$inner:ident>)?,)+
        } $(beside { $($more:ident -> $more_sql:ident,)+ })?;
    )+) => {$(
        diesel::table! {
            $table ($($key),+) { $($column -> $sql $(<$inner>)?,)+ $($($more -> $more_sql,)+)? }
        }

        pub(super) const $constant: Staged = Staged {
            name: stringify!($table),
            keys: &[$(stringify!($key)),+],
            columns: &[$((stringify!($column), staged!(@type $sql $($inner)?))),+],
            beside: &[$($((stringify!($more), staged!(@type $more_sql))),+)?],
            again: Again::$again,
        };
    )+};
    (@type Nullable $inner:ident) => { staged!(@type $inner) };
    (@type BigInt) => { Type::Number };
    (@type Bool) => { Type::Flag };
    (@type Text) => { Type::Text };
    (@type Binary) => { Type::Bytes };
}

staged! {
    GUILDS = staged_guilds (id), again Replaces {
        id -> BigInt,
        name -> Text,
        icon -> Nullable<Text>,
        members -> BigInt,
        owner -> BigInt,
        setup -> Bool,
        linked -> Bool,
        bindings -> Text,
    };
    MEMBERS = staged_members (guild, user_id), again Replaces {
        guild -> BigInt,
        user_id -> BigInt,
        roles -> Text,
    };
    // Where the guild of a member was first named.
    MEMBER_GUILDS = staged_member_guilds (guild), again IsIgnored {
        guild -> BigInt,
        line -> BigInt,
    };
    SUBSCRIPTIONS = staged_subscriptions (user_id), again Replaces {
        user_id -> BigInt,
        slots -> BigInt,
        guilds -> Text,
    };
    SUBSCRIPTION_GUILDS = staged_subscription_guilds (user_id, guild), again Replaces {
        user_id -> BigInt,
        guild -> BigInt,
    };
    STAFF = staged_staff (user_id), again Replaces {
        user_id -> BigInt,
        grants -> Text,
    };
    BLOCKED = staged_blocked (user_id), again Replaces {
        user_id -> BigInt,
    };
    TEAM = staged_team (user_id, category), again Replaces {
        user_id -> BigInt,
        category -> Text,
        username -> Text,
        name -> Text,
        avatar -> Text,
        role -> Text,
        color -> Text,
        position -> BigInt,
    };
    FEEDBACK = staged_feedback (id), again Replaces {
        id -> Text,
        message -> Text,
        rating -> BigInt,
        submitted_at -> BigInt,
        submitter_id -> BigInt,
        submitter_username -> Text,
        submitter_name -> Text,
        submitter_avatar -> Text,
    } beside {
        positive -> Bool,
    };
    // Slots that the merge sets free.
    HOLES = staged_holes (slot), again IsIgnored {
        slot -> BigInt,
    };
    SESSIONS = staged_sessions (id), again Replaces {
        id -> Binary,
        user_id -> BigInt,
        created_at -> BigInt,
        last_seen_at -> BigInt,
    };
    GRANTS = staged_grants (user_id), again Replaces {
        user_id -> BigInt,
        version -> BigInt,
        tokens -> Nullable<Binary>,
        list -> Nullable<Binary>,
        fetched_at -> Nullable<BigInt>,
    };
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

impl StagedRows {
    /// The kinds that there are rows of.
    pub(super) fn kinds(&self) -> BTreeSet<Kind> {
        self.0.iter().map(StagedRow::kind).collect()
    }

    /// Stages the rows, in the quickest way of the database. One takes the place of an earlier one with the same key.
    pub(super) fn insert(self, db: &mut AnyConnection) -> QueryResult<()> {
        match db {
            #[cfg(feature = "sqlite")]
            AnyConnection::Sqlite(db) => db.transaction(|db| super::single::insert(self, db)),
            #[cfg(feature = "postgres")]
            AnyConnection::Postgres(db) => super::bulk::insert(self, db),
        }
    }
}

impl StagedRow {
    const fn kind(&self) -> Kind {
        match self {
            Self::Guild(_) => Kind::Guild,
            Self::Member(..) => Kind::Member,
            Self::Subscription(..) => Kind::Subscription,
            Self::Staff(_) => Kind::Staff,
            Self::Blocked(_) => Kind::Blocked,
            Self::Feedback(..) => Kind::Feedback,
            Self::Team(_) => Kind::Team,
            Self::Session(_) => Kind::Session,
            Self::Grant(_) => Kind::Grant,
        }
    }
}

/// The tables that records of a kind are staged in.
pub(super) const fn tables_of(kind: Kind) -> &'static [Staged] {
    match kind {
        Kind::Guild => &[GUILDS],
        Kind::Member => &[MEMBERS, MEMBER_GUILDS],
        Kind::Subscription => &[SUBSCRIPTIONS, SUBSCRIPTION_GUILDS],
        Kind::Staff => &[STAFF],
        Kind::Blocked => &[BLOCKED],
        Kind::Feedback => &[FEEDBACK, HOLES],
        Kind::Team => &[TEAM],
        Kind::Session => &[SESSIONS],
        Kind::Grant => &[GRANTS],
        Kind::Cluster => &[],
    }
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
