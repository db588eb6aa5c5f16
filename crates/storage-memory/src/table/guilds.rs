//! Guilds that have the bot, and the roles of their members.

use crate::{
    journal::Journal,
    state::MemoryStorage,
    table::{gone, noted, set},
};
use async_trait::async_trait;
use companion_domain::{
    change::{Subject, Tally},
    model::{Guild, GuildId, Member, RoleSet, UserId},
    port::{GuildDirectory, GuildSeen, StoreError},
};
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

/// Guilds with their members, and which guilds know each user.
#[derive(Default)]
pub(crate) struct Guilds {
    by_id: HashMap<GuildId, Known>,
    of_member: HashMap<UserId, HashSet<GuildId>>,
    no_roles: Arc<RoleSet>,
}

/// A guild and the roles of its members.
pub(crate) struct Known {
    pub(crate) guild: Arc<Guild>,
    pub(crate) members: HashMap<UserId, Arc<RoleSet>>,
}

impl Guilds {
    pub(crate) fn all(&self) -> impl Iterator<Item = &Known> {
        self.by_id.values()
    }

    pub(crate) fn has(&self, guild: GuildId) -> bool {
        self.by_id.contains_key(&guild)
    }

    /// The guilds in which a user's roles are known.
    pub(crate) fn of_member(&self, user: UserId) -> impl Iterator<Item = GuildId> {
        self.of_member.get(&user).into_iter().flatten().copied()
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
                self.by_id.insert(id, Known { guild, members: HashMap::new() });
                Tally::ADDED
            }
        };
        noted(tally, Subject::Guild(id), journal)
    }

    /// Removes a guild. Its members go along: they are noted, and not counted.
    pub(crate) fn remove(&mut self, guild: GuildId, journal: &mut Journal) -> Tally {
        let Some(known) = self.by_id.remove(&guild) else {
            return Tally::NOTHING;
        };
        for user in known.members.keys() {
            self.unlink(guild, *user);
            journal.note(Subject::Member(guild, *user));
        }
        noted(Tally::REMOVED, Subject::Guild(guild), journal)
    }

    /// Sets a member's roles. Nothing where the guild is not known.
    pub(crate) fn put_member(
        &mut self,
        guild: GuildId,
        user: UserId,
        roles: Arc<RoleSet>,
        journal: &mut Journal,
    ) -> Option<Tally> {
        let tally = set(&mut self.by_id.get_mut(&guild)?.members, user, roles);
        if tally.added > 0 {
            self.of_member.entry(user).or_default().insert(guild);
        }
        Some(noted(tally, Subject::Member(guild, user), journal))
    }

    /// Forgets a member's roles. Nothing where the guild is not known.
    pub(crate) fn remove_member(
        &mut self,
        guild: GuildId,
        user: UserId,
        journal: &mut Journal,
    ) -> Option<Tally> {
        let tally = gone(self.by_id.get_mut(&guild)?.members.remove(&user));
        if tally.removed > 0 {
            self.unlink(guild, user);
        }
        Some(noted(tally, Subject::Member(guild, user), journal))
    }

    fn unlink(&mut self, guild: GuildId, user: UserId) {
        if let Some(guilds) = self.of_member.get_mut(&user) {
            guilds.remove(&guild);
            if guilds.is_empty() {
                self.of_member.remove(&user);
            }
        }
    }

    fn seen_by(&self, user: UserId, guilds: &[GuildId]) -> Vec<GuildSeen> {
        let mut asked = HashSet::with_capacity(guilds.len());
        let known =
            guilds.iter().filter(|guild| asked.insert(**guild)).filter_map(|guild| self.by_id.get(guild));
        known
            .map(|known| GuildSeen {
                guild: Arc::clone(&known.guild),
                roles: Arc::clone(known.members.get(&user).unwrap_or(&self.no_roles)),
            })
            .collect()
    }
}

#[async_trait]
impl GuildDirectory for MemoryStorage {
    async fn seen_by(&self, user: UserId, guilds: &[GuildId]) -> Result<Vec<GuildSeen>, StoreError> {
        Ok(self.read().guilds.seen_by(user, guilds))
    }

    async fn find(&self, guild: GuildId) -> Result<Option<Arc<Guild>>, StoreError> {
        Ok(self.read().guilds.by_id.get(&guild).map(|known| Arc::clone(&known.guild)))
    }

    async fn put(&self, guild: &Guild) -> Result<Tally, StoreError> {
        let guild = Arc::new(guild.clone());
        Ok(self.write(|state, journal| state.guilds.put(guild, journal)))
    }

    async fn remove(&self, guild: GuildId) -> Result<Tally, StoreError> {
        Ok(self.write(|state, journal| state.guilds.remove(guild, journal)))
    }

    async fn put_member(&self, member: &Member) -> Result<Option<Tally>, StoreError> {
        let roles = Arc::new(member.roles.clone());
        Ok(self.write(|state, journal| state.guilds.put_member(member.guild, member.user, roles, journal)))
    }

    async fn remove_member(&self, guild: GuildId, user: UserId) -> Result<Option<Tally>, StoreError> {
        Ok(self.write(|state, journal| state.guilds.remove_member(guild, user, journal)))
    }
}
