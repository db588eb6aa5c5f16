//! Merging everything that a sync has staged.

use super::{key::TwoNumbers, kinds};
use crate::{error::Failure, row::snowflake::from_column, store::bot_telemetry, writer::Write};
use companion_domain::{
    change::{Kind, Tally},
    model::GuildId,
    port::{Replace, SyncError},
};
use diesel::{RunQueryDsl, sql_query, sql_types::BigInt};

/// A member's guild that is neither stored nor staged.
pub(super) struct UnknownGuild {
    pub(super) line: u64,
    pub(super) guild: GuildId,
}

impl From<UnknownGuild> for SyncError {
    fn from(UnknownGuild { line, guild }: UnknownGuild) -> Self {
        Self::UnknownGuild { line, guild }
    }
}

/// Changes the tables to what was staged, or leaves them alone where a member's guild is not known.
pub(super) fn apply(
    write: &mut Write<'_>,
    sync: i64,
    replace: &Replace,
) -> Result<Result<Tally, UnknownGuild>, Failure> {
    if let Some(unknown) = first_unknown_guild(write, sync)? {
        return Ok(Err(unknown));
    }
    let mut tally = kinds::guilds(write, sync, replace)?;
    tally += kinds::members(write, sync, replace)?;
    tally += kinds::subscriptions(write, sync, replace)?;
    tally += kinds::staff(write, sync, replace)?;
    tally += kinds::blocked(write, sync, replace)?;
    tally += kinds::feedback(write, sync, replace)?;
    tally += kinds::team(write, sync, replace)?;
    tally += kinds::sessions(write, sync, replace)?;
    tally += kinds::grants(write, sync, replace)?;
    if replace.kinds.contains(&Kind::Cluster) {
        // No record brings a cluster, so all are left out.
        tally += bot_telemetry::forget_all(write)?;
    }
    Ok(Ok(tally))
}

fn first_unknown_guild(write: &mut Write<'_>, sync: i64) -> Result<Option<UnknownGuild>, Failure> {
    let unknown: Vec<TwoNumbers> = sql_query(
        "SELECT m.line AS first, m.guild AS second FROM staged_member_guilds AS m WHERE m.sync = $1
         AND NOT EXISTS (SELECT 1 FROM guilds AS t WHERE t.id = m.guild)
         AND NOT EXISTS (SELECT 1 FROM staged_guilds AS s WHERE s.sync = $1 AND s.id = m.guild)
         ORDER BY m.line LIMIT 1",
    )
    .bind::<BigInt, _>(sync)
    .load(write.db)?;
    let unknown = unknown.first().map(|unknown| {
        Ok(UnknownGuild {
            line: unknown.first.cast_unsigned(),
            guild: from_column(unknown.second, "staged_member_guilds", "guild")?,
        })
    });
    unknown.transpose()
}
