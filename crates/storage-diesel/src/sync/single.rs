//! Staging row by row, for a database that is asked without a detour.

use super::staging::{
    StagedRow, StagedRows, staged_blocked, staged_feedback, staged_grants, staged_guilds,
    staged_member_guilds, staged_members, staged_sessions, staged_staff, staged_subscription_guilds,
    staged_subscriptions, staged_team,
};
use diesel::{ExpressionMethods, QueryDsl, QueryResult, RunQueryDsl, SqliteConnection};

/// Inserts the fields of a row into the columns of the same names.
macro_rules! insert {
    ($db:ident, $table:ident, $row:ident { $($column:ident),+ } $($more:ident),*) => {
        diesel::insert_into($table::table)
            .values((
                $($table::$column.eq($row.$column),)+
                $($table::$more.eq($more),)*
            ))
            .execute($db)?
    };
}

/// Stages rows. One takes the place of an earlier one with the same key.
pub(super) fn insert(rows: StagedRows, db: &mut SqliteConnection) -> QueryResult<()> {
    let mut named_before = None;
    for row in rows.0 {
        if let StagedRow::Member(member, line) = &row {
            // Members mostly come guild by guild, so naming a guild again right after is not worth a statement.
            if named_before.replace(member.guild) != Some(member.guild) {
                insert!(db, staged_member_guilds, member { guild } line);
            }
        }
        row.insert(db)?;
    }
    Ok(())
}

impl StagedRow {
    fn insert(self, db: &mut SqliteConnection) -> QueryResult<()> {
        match self {
            Self::Guild(row) => {
                insert!(db, staged_guilds, row { id, name, icon, members, owner, setup, linked, bindings })
            }
            Self::Member(row, _) => insert!(db, staged_members, row { guild, user_id, roles }),
            Self::Subscription(row, guilds) => {
                let earlier = staged_subscription_guilds::table
                    .filter(staged_subscription_guilds::user_id.eq(row.user_id));
                diesel::delete(earlier).execute(db)?;
                for named in guilds {
                    insert!(db, staged_subscription_guilds, named { user_id, guild });
                }
                insert!(db, staged_subscriptions, row { user_id, slots, guilds })
            }
            Self::Staff(row) => insert!(db, staged_staff, row { user_id, grants }),
            Self::Blocked(user_id) => diesel::insert_into(staged_blocked::table)
                .values(staged_blocked::user_id.eq(user_id))
                .execute(db)?,
            Self::Feedback(row, positive) => insert!(
                db, staged_feedback,
                row {
                    id, message, rating, submitted_at,
                    submitter_id, submitter_username, submitter_name, submitter_avatar
                }
                positive
            ),
            Self::Team(row) => insert!(
                db,
                staged_team,
                row { user_id, category, username, name, avatar, role, color, position }
            ),
            Self::Session(row) => {
                insert!(db, staged_sessions, row { id, user_id, created_at, last_seen_at })
            }
            Self::Grant(row) => {
                insert!(db, staged_grants, row { user_id, version, tokens, list, fetched_at })
            }
        };
        Ok(())
    }
}
