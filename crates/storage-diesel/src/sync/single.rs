//! Staging row by row, beside what other syncs stage on the same connection.

use super::staging::{
    NAMES, StagedRow, StagedRows, staged_blocked, staged_feedback, staged_grants, staged_guilds,
    staged_member_guilds, staged_members, staged_sessions, staged_staff, staged_subscription_guilds,
    staged_subscriptions, staged_syncs, staged_team,
};
use crate::{connection::AnyConnection, error::Failure};
use diesel::{
    ExpressionMethods, OptionalExtension, QueryDsl, QueryResult, RunQueryDsl, connection::SimpleConnection,
};

/// The connection that held the staged records is gone, and they with it.
const INTERRUPTED: Failure = Failure::Unavailable("the sync was interrupted; send it again");

/// Makes a sync known.
pub(crate) fn begin(db: &mut AnyConnection, sync: i64) -> QueryResult<()> {
    diesel::insert_into(staged_syncs::table).values(staged_syncs::sync.eq(sync)).execute(db)?;
    Ok(())
}

/// Refuses to go on with a sync whose records are lost.
pub(crate) fn check(db: &mut AnyConnection, sync: i64) -> Result<(), Failure> {
    let known: Option<i64> =
        staged_syncs::table.find(sync).select(staged_syncs::sync).first(db).optional()?;
    known.map(|_| ()).ok_or(INTERRUPTED)
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
