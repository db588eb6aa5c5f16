//! Every table and every column, named once, but for PostgreSQL's `history.revision`.
//!
//! Migrations create the tables; a test compares the two. Diesel's table definitions, the row types and the staging
//! tables are all generated from this list.

use diesel::{QueryableByName, sql_types::Text};

/// Passes the list of tables to another macro. The brackets hold the name of the row type, if rows become values, of the
/// staging table, if a sync carries them, and the record that a row holds. Key columns come first. Columns after a plus
/// belong to the table but not to the row type.
macro_rules! tables {
    ($with:ident) => {
        $with! {
            history (id) [] {
                id -> BigInt,
                grant_offset -> BigInt,
            }
            changes (revision) [ChangeRow] {
                revision -> BigInt,
                kind -> Text,
                subject -> Text,
            }
            guilds (id) [GuildRow, staged_guilds, Guild(guild)] {
                id -> BigInt,
                name -> Text,
                icon -> Nullable<Text>,
                members -> BigInt,
                owner -> BigInt,
                setup -> Bool,
                linked -> Bool,
                bindings -> Text,
            }
            members (guild, user_id) [MemberRow, staged_members, Member(member)] {
                guild -> BigInt,
                user_id -> BigInt,
                roles -> Text,
            }
            outlines (guild) [OutlineRow, staged_outlines, Outline(outline)] {
                guild -> BigInt,
                channels -> Text,
                roles -> Text,
            }
            subscriptions (user_id) [SubscriptionRow, staged_subscriptions, Subscription(subscription)] {
                user_id -> BigInt,
                slots -> BigInt,
                guilds -> Text,
            }
            subscription_guilds (user_id, guild) [SubscriptionGuildRow, staged_subscription_guilds] {
                user_id -> BigInt,
                guild -> BigInt,
            }
            staff (user_id) [StaffRow, staged_staff, Staff(user, grants)] {
                user_id -> BigInt,
                grants -> Text,
            }
            blocked (user_id) [BlockedRow, staged_blocked, Blocked(user)] {
                user_id -> BigInt,
            }
            team (user_id, category) [TeamRow, staged_team, Team(member)] {
                user_id -> BigInt,
                category -> Text,
                username -> Text,
                name -> Text,
                avatar -> Text,
                role -> Text,
                color -> Text,
                position -> BigInt,
            }
            feedback (id) [FeedbackRow, staged_feedback, Feedback(entry)] {
                id -> Text,
                message -> Text,
                rating -> BigInt,
                submitted_at -> BigInt,
                submitter_id -> BigInt,
                submitter_username -> Text,
                submitter_name -> Text,
                submitter_avatar -> Text,
            } + {
                slot -> Nullable<BigInt>,
            }
            settings_schema (id) [SchemaRow, staged_settings_schema, Schema(schema)] {
                id -> BigInt,
                content -> Text,
            }
            settings (guild) [SettingsRow, staged_settings, Settings(guild, settings)] {
                guild -> BigInt,
                revision -> BigInt,
                content -> Text,
                changed_at -> Nullable<BigInt>,
                changed_by -> Nullable<BigInt>,
                changed_via -> Nullable<Text>,
                applied -> Nullable<BigInt>,
                problems -> Text,
            }
            settings_edits (guild, revision) [SettingsEditRow, staged_settings_edits, SettingsEdit(entry)] {
                guild -> BigInt,
                revision -> BigInt,
                made_at -> BigInt,
                made_by -> Nullable<BigInt>,
                via -> Text,
                content -> Text,
            }
            notices (id) [NoticeRow, staged_notices, Notice(notice)] {
                id -> Text,
                kind -> Text,
                title -> Text,
                body -> Text,
                starts_at -> BigInt,
                ends_at -> Nullable<BigInt>,
            }
            periods (subject, began_at) [PeriodRow, staged_periods, Period(period)] {
                subject -> Text,
                began_at -> BigInt,
                ended_at -> Nullable<BigInt>,
                reason -> Nullable<Text>,
                alert_due -> Nullable<BigInt>,
            }
            clusters (id) [ClusterRow] {
                id -> Text,
                report -> Text,
                received_at -> BigInt,
            }
            sessions (id) [SessionRow, staged_sessions, Session(session)] {
                id -> Binary,
                user_id -> BigInt,
                created_at -> BigInt,
                last_seen_at -> BigInt,
                user_agent -> Nullable<Text>,
            }
            grants (user_id) [GrantRow, staged_grants, Grant(user, grant)] {
                user_id -> BigInt,
                version -> BigInt,
                tokens -> Nullable<Binary>,
                list -> Nullable<Binary>,
                fetched_at -> Nullable<BigInt>,
                name -> Nullable<Text>,
                avatar -> Nullable<Text>,
            } + {
                claim_until -> Nullable<BigInt>,
            }
            spent_codes (fingerprint) [] {
                fingerprint -> Binary,
                spent_until -> BigInt,
            }
            platform_pause (id) [] {
                id -> BigInt,
                said_at -> BigInt,
                wait -> BigInt,
            }
        }
    };
}

/// The digest of the schema that the migrations of PostgreSQL create. It spares an unaltered database the comparison
/// with temporary tables. A server that describes tables differently only costs that comparison.
pub(crate) const POSTGRES_DIGEST: u64 = 0xca22_368c_eb4a_4df3;

/// Expands to the columns in braces, as values.
macro_rules! columns {
    ({ $($column:ident -> $sql:ident $(<$inner:ident>)?,)* }) => {
        &[$($crate::schema::Column {
            name: stringify!($column),
            holds: $crate::schema::columns!(@type $sql $($inner)?),
            #[cfg(test)]
            nullable: $crate::schema::columns!(@nullable $sql),
        },)*]
    };
    (@type Nullable $inner:ident) => { $crate::schema::ColumnType::$inner };
    (@type $sql:ident) => { $crate::schema::ColumnType::$sql };
    (@nullable Nullable) => { true };
    (@nullable $sql:ident) => { false };
}

macro_rules! diesel_tables {
    ($($table:ident $keys:tt $rows:tt { $($column:tt)* } $(+ { $($beside:tt)* })?)+) => {
        $(diesel::table! { $table $keys { $($column)* $($($beside)*)? } })+

        diesel::allow_tables_to_appear_in_same_query!($($table),+);

        /// Every column of every table, for the test that compares a database with them.
        #[cfg(test)]
        pub(crate) const TABLES: &[(&str, &[Column])] =
            &[$((stringify!($table), columns!({ $($column)* $($($beside)*)? })),)+];
    };
}

pub(crate) use {columns, tables};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) holds: ColumnType,
    #[cfg(test)]
    pub(crate) nullable: bool,
}

/// The type of a column, named like the SQL type. The set is limited to what every database supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColumnType {
    BigInt,
    Bool,
    Text,
    Binary,
}

/// A table or an index of a database.
#[derive(QueryableByName, Debug, Clone, PartialEq, Eq)]
pub(crate) struct Object {
    #[diesel(sql_type = Text)]
    pub(crate) kind: String,
    #[diesel(sql_type = Text)]
    pub(crate) name: String,
    /// The table that it belongs to.
    #[diesel(sql_type = Text)]
    pub(crate) table_name: String,
    #[diesel(sql_type = Text)]
    pub(crate) definition: String,
}

tables!(diesel_tables);
