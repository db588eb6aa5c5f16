//! Merging everything that a sync has staged.

use super::{key::TwoNumbers, kinds, merge::Merge};
use crate::{connection::AnyConnection, error::Failure, row::snowflake::from_column, writer::Write};
use companion_domain::{
    change::{Kind, Tally},
    model::GuildId,
    port::{Replace, SyncError},
};
use diesel::{RunQueryDsl, sql_query};
use std::collections::BTreeSet;

/// A member's guild that is neither stored nor staged.
pub(super) struct UnknownGuild {
    line: u64,
    guild: GuildId,
}

impl From<UnknownGuild> for SyncError {
    fn from(UnknownGuild { line, guild }: UnknownGuild) -> Self {
        Self::UnknownGuild { line, guild }
    }
}

/// What is merged, in this order: a guild before its members.
pub(super) struct Plan {
    merges: Vec<Merge>,
    clusters_go: bool,
}

impl Plan {
    /// Merges these kinds, which were staged, and those that are replaced.
    pub(super) fn new(staged: &BTreeSet<Kind>, replace: &Replace) -> Self {
        let concerned =
            Kind::ALL.into_iter().filter(|kind| staged.contains(kind) || replace.kinds.contains(kind));
        Self {
            merges: concerned.filter_map(|kind| kinds::merge_of(kind, replace)).collect(),
            clusters_go: replace.kinds.contains(&Kind::Cluster),
        }
    }

    /// Compares what was staged with what is stored, and keeps what differs. A member whose guild is not known ends it.
    pub(super) fn compare(&self, db: &mut AnyConnection) -> Result<Result<(), UnknownGuild>, Failure> {
        if let Some(unknown) = self.first_unknown_guild(db)? {
            return Ok(Err(unknown));
        }
        for merge in &self.merges {
            merge.compare(db)?;
        }
        Ok(Ok(()))
    }

    /// Writes what differs.
    pub(super) fn write(&self, write: &mut Write<'_>) -> Result<Tally, Failure> {
        let mut tally = Tally::NOTHING;
        for merge in &self.merges {
            tally += kinds::write(write, merge)?;
        }
        if self.clusters_go {
            tally += kinds::forget_clusters(write)?;
        }
        Ok(tally)
    }

    fn concerns(&self, kind: Kind) -> bool {
        self.merges.iter().any(|merge| merge.kind == kind)
    }

    fn first_unknown_guild(&self, db: &mut AnyConnection) -> Result<Option<UnknownGuild>, Failure> {
        if !self.concerns(Kind::Member) {
            return Ok(None);
        }
        let unknown: Vec<TwoNumbers> = sql_query(
            "SELECT m.line AS first, m.guild AS second FROM staged_member_guilds AS m
             WHERE NOT EXISTS (SELECT 1 FROM guilds AS t WHERE t.id = m.guild)
             AND NOT EXISTS (SELECT 1 FROM staged_guilds AS s WHERE s.id = m.guild)
             ORDER BY m.line LIMIT 1",
        )
        .load(db)?;
        let unknown = unknown.first().map(|unknown| {
            Ok(UnknownGuild {
                line: unknown.first.cast_unsigned(),
                guild: from_column(unknown.second, "staged_member_guilds", "guild")?,
            })
        });
        unknown.transpose()
    }
}
