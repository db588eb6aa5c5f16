//! Putting in place what a sync brought.

use super::staging::{Staged, StagedMembers};
use crate::{journal::Journal, keyed::Table, state::State, table::guilds::Guilds};
use companion_domain::{
    change::{Kind, Tally},
    model::{Guild, GuildId, UserId},
    port::{Replace, SyncError},
};
use std::{collections::BTreeMap, sync::Arc};

impl Staged {
    /// Changes the state to what was staged, or leaves it alone where a member's guild is not known.
    pub(crate) fn apply(
        self,
        state: &mut State,
        replace: &Replace,
        journal: &mut Journal,
    ) -> Result<Tally, SyncError> {
        self.check_guilds(&state.guilds)?;
        let replaces = |kind| replace.kinds.contains(&kind);
        let mut tally = apply_guilds(&mut state.guilds, self.guilds, replace, journal);
        tally += apply_members(&mut state.guilds, self.members, replace, journal);
        tally += state.subscriptions.merge(self.subscriptions, replaces(Kind::Subscription), journal);
        tally += state.staff.merge(self.staff, replaces(Kind::Staff), journal);
        tally += state.blocked.merge(self.blocked, replaces(Kind::Blocked), journal);
        tally += state.feedback.merge(self.feedback, replaces(Kind::Feedback), journal);
        tally += state.team.merge(self.team.into_values(), replaces(Kind::Team), journal);
        tally += state.sessions.merge(self.sessions, replaces(Kind::Session), journal);
        tally += state.grants.merge(self.grants, replaces(Kind::Grant), journal);
        // No record brings a cluster, so where they are replaced all are left out.
        tally += state.clusters.merge(BTreeMap::new(), replaces(Kind::Cluster), journal);
        Ok(tally)
    }

    fn check_guilds(&self, guilds: &Guilds) -> Result<(), SyncError> {
        let unknown = |guild: &GuildId| !guilds.has(*guild) && !self.guilds.contains_key(guild);
        let first =
            self.members.iter().filter(|(guild, _)| unknown(guild)).min_by_key(|(_, members)| members.line);
        match first {
            Some((guild, members)) => Err(SyncError::UnknownGuild { line: members.line, guild: *guild }),
            None => Ok(()),
        }
    }
}

fn apply_guilds(
    guilds: &mut Guilds,
    staged: BTreeMap<GuildId, Arc<Guild>>,
    replace: &Replace,
    journal: &mut Journal,
) -> Tally {
    let left_out = |id: &GuildId| replace.covers(Kind::Guild, *id) && !staged.contains_key(id);
    let going: Vec<_> = guilds.all().map(|known| known.guild.id).filter(left_out).collect();
    let mut tally = Tally::NOTHING;
    for id in going {
        tally += guilds.remove(id, journal);
    }
    for guild in staged.into_values() {
        tally += guilds.put(guild, journal);
    }
    tally
}

fn apply_members(
    guilds: &mut Guilds,
    staged: BTreeMap<GuildId, StagedMembers>,
    replace: &Replace,
    journal: &mut Journal,
) -> Tally {
    let covered = guilds.all().filter(|known| replace.covers(Kind::Member, known.guild.id));
    let of_covered = covered.flat_map(|known| known.members.keys().map(|user| (known.guild.id, *user)));
    let kept = |guild: &GuildId, user: &UserId| {
        staged.get(guild).is_some_and(|members| members.roles.contains_key(user))
    };
    let going: Vec<_> = of_covered.filter(|(guild, user)| !kept(guild, user)).collect();
    let mut tally = Tally::NOTHING;
    for (guild, user) in going {
        tally += guilds.remove_member(guild, user, journal).unwrap_or_default();
    }
    for (guild, members) in staged {
        for (user, roles) in members.roles {
            // Nothing comes of the members of a guild that this very sync took away.
            tally += guilds.put_member(guild, user, roles, journal).unwrap_or_default();
        }
    }
    tally
}
