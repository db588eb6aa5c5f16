//! Guilds that have the bot, and the roles of their members.

use crate::{
    journal::{Index, Journal},
    keyed::{noted, removal_tally, set},
};
use companion_domain::{
    change::{Subject, Tally},
    model::{Guild, GuildId, RoleSet, UserId},
    port::GuildWithRoles,
};
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

/// Guilds with their members, and the guilds of each user.
#[derive(Default)]
pub(crate) struct Guilds {
    by_id: HashMap<GuildId, KnownGuild>,
    of_member: Index<UserId, GuildId>,
    no_roles: Arc<RoleSet>,
}

/// A guild and the roles of its members.
pub(crate) struct KnownGuild {
    pub(crate) guild: Arc<Guild>,
    pub(crate) members: HashMap<UserId, Arc<RoleSet>>,
}

impl Guilds {
    pub(crate) fn all(&self) -> impl Iterator<Item = &KnownGuild> {
        self.by_id.values()
    }

    pub(crate) fn all_members(&self) -> impl Iterator<Item = (GuildId, UserId)> {
        self.all().flat_map(|known| known.members.keys().map(|user| (known.guild.id, *user)))
    }

    pub(crate) fn find(&self, guild: GuildId) -> Option<Arc<Guild>> {
        self.by_id.get(&guild).map(|known| Arc::clone(&known.guild))
    }

    pub(crate) fn has(&self, guild: GuildId) -> bool {
        self.by_id.contains_key(&guild)
    }

    /// Returns the guilds in which a user's roles are known.
    pub(crate) fn of_member(&self, user: UserId) -> impl Iterator<Item = GuildId> {
        self.of_member.of(&user).copied()
    }

    pub(crate) fn put(&mut self, guild: Arc<Guild>, journal: &mut Journal) -> Tally {
        let id = guild.id;
        let tally = match self.by_id.get_mut(&id) {
            Some(known) if known.guild == guild => Tally::NOTHING,
            Some(known) => {
                known.guild = guild;
                Tally::CHANGED
            }
            None => {
                self.by_id.insert(id, KnownGuild { guild, members: HashMap::new() });
                Tally::ADDED
            }
        };
        noted(tally, Subject::Guild(id), journal)
    }

    /// Removes a guild and its members. The members are noted as changes, but not counted.
    pub(crate) fn remove(&mut self, guild: GuildId, journal: &mut Journal) -> Tally {
        let Some(known) = self.by_id.remove(&guild) else {
            return Tally::NOTHING;
        };
        for user in known.members.keys() {
            self.of_member.remove(user, &guild);
            journal.note(Subject::Member(guild, *user));
        }
        noted(Tally::REMOVED, Subject::Guild(guild), journal)
    }

    /// Sets the roles of a member. Returns `None` if the guild is unknown.
    pub(crate) fn put_member(
        &mut self,
        guild: GuildId,
        user: UserId,
        roles: Arc<RoleSet>,
        journal: &mut Journal,
    ) -> Option<Tally> {
        let tally = set(&mut self.by_id.get_mut(&guild)?.members, user, roles);
        if tally.added > 0 {
            self.of_member.insert(user, guild);
        }
        Some(noted(tally, Subject::Member(guild, user), journal))
    }

    /// Removes the roles of a member. Returns `None` if the guild is unknown.
    pub(crate) fn remove_member(
        &mut self,
        guild: GuildId,
        user: UserId,
        journal: &mut Journal,
    ) -> Option<Tally> {
        let tally = removal_tally(self.by_id.get_mut(&guild)?.members.remove(&user));
        if tally.removed > 0 {
            self.of_member.remove(&user, &guild);
        }
        Some(noted(tally, Subject::Member(guild, user), journal))
    }

    pub(crate) fn with_roles(&self, user: UserId, guilds: &[GuildId]) -> Vec<GuildWithRoles> {
        let mut asked = HashSet::with_capacity(guilds.len());
        let known =
            guilds.iter().filter(|guild| asked.insert(**guild)).filter_map(|guild| self.by_id.get(guild));
        known
            .map(|known| GuildWithRoles {
                guild: Arc::clone(&known.guild),
                roles: Arc::clone(known.members.get(&user).unwrap_or(&self.no_roles)),
            })
            .collect()
    }
}
