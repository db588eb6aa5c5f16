//! Guilds as the bot reports them.

use super::{GuildId, Invalid, Name, RoleId, RoleKey, UserId, WebUrl};
use std::{collections::BTreeMap, sync::Arc};

/// A guild that has the bot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guild {
    /// The platform's id.
    pub id: GuildId,
    /// The name, as the bot reports it.
    pub name: Name,
    /// The icon, if any.
    pub icon: Option<WebUrl>,
    /// Number of members.
    pub members: MemberCount,
    /// The owner that is shown. Whether the session's user owns the guild is decided by the platform's list, not by
    /// this field.
    pub owner: UserId,
    /// Whether the bot has been set up there.
    pub setup: bool,
    /// Whether it is linked to a game server.
    pub linked: bool,
    /// Which platform roles carry which of the bot's rights.
    pub bindings: RoleBindings,
}

impl Guild {
    /// Creates a guild that has not been set up.
    #[must_use]
    pub fn new(id: GuildId, name: Name, owner: UserId) -> Self {
        Self {
            id,
            name,
            icon: None,
            members: MemberCount::default(),
            owner,
            setup: false,
            linked: false,
            bindings: RoleBindings::default(),
        }
    }
}

/// A guild, and the roles of one user in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuildWithRoles {
    /// The guild, shared between listings.
    pub guild: Arc<Guild>,
    /// The user's roles in the guild. Empty if the bot reported none.
    pub roles: Arc<RoleSet>,
}

/// A number of members that every database and every JSON reader represents exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct MemberCount(u32);

impl MemberCount {
    /// The largest accepted number.
    pub const MAX: u32 = 2_147_483_647;

    /// Validates a number of members.
    pub fn new(count: u64) -> Result<Self, Invalid> {
        let count = u32::try_from(count).ok().filter(|count| *count <= Self::MAX);
        count.map(Self).ok_or(Invalid::new("members", "a whole number from 0 to 2147483647"))
    }

    /// Returns the number.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }
}

/// A set of platform roles, sorted and without duplicates.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RoleSet(Box<[RoleId]>);

impl RoleSet {
    /// The platform allows 250 roles in a guild; twice that leaves room for growth.
    pub const MAX: usize = 500;

    /// Sorts and deduplicates the roles. Duplicates count towards the limit: a list that long is an error of its sender.
    pub fn new(mut roles: Vec<RoleId>) -> Result<Self, Invalid> {
        if roles.len() > Self::MAX {
            return Err(Invalid::new("roles", "a list of at most 500 role ids"));
        }
        roles.sort_unstable();
        roles.dedup();
        Ok(Self(roles.into()))
    }

    /// Returns the roles in ascending order.
    #[must_use]
    pub fn as_slice(&self) -> &[RoleId] {
        &self.0
    }

    /// Returns whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether the sets have a role in common.
    #[must_use]
    pub fn intersects(&self, other: &Self) -> bool {
        self.0.iter().any(|role| other.0.binary_search(role).is_ok())
    }
}

/// Which platform roles carry which of the bot's rights in a guild.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RoleBindings(BTreeMap<RoleKey, RoleSet>);

impl RoleBindings {
    /// Collects bindings. A key without roles is equal to an absent key.
    #[must_use]
    pub fn new(bindings: impl IntoIterator<Item = (RoleKey, RoleSet)>) -> Self {
        Self(bindings.into_iter().filter(|(_, roles)| !roles.is_empty()).collect())
    }

    /// Iterates over the keys that have roles.
    pub fn iter(&self) -> impl Iterator<Item = (RoleKey, &RoleSet)> {
        self.0.iter().map(|(key, roles)| (*key, roles))
    }

    /// Returns the roles that are bound to a key.
    #[must_use]
    pub fn roles(&self, key: RoleKey) -> &[RoleId] {
        self.0.get(&key).map_or(&[], RoleSet::as_slice)
    }

    /// Iterates over the keys that a member with these roles holds.
    pub fn held_by<'a>(&'a self, roles: &'a RoleSet) -> impl Iterator<Item = RoleKey> + 'a {
        self.iter().filter(|(_, bound)| bound.intersects(roles)).map(|(key, _)| key)
    }
}

/// The platform roles that a user has in a guild.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The guild.
    pub guild: GuildId,
    /// The user.
    pub user: UserId,
    /// The user's roles in the guild.
    pub roles: RoleSet,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roles(ids: impl IntoIterator<Item = u64>) -> RoleSet {
        RoleSet::new(ids.into_iter().map(|id| RoleId::new(id).unwrap()).collect()).unwrap()
    }

    #[test]
    fn role_sets_are_sorted_deduplicated_and_bounded() {
        let set = roles([3, 1, 3, 2]);
        assert_eq!(set.as_slice().iter().map(|role| role.get()).collect::<Vec<_>>(), [1, 2, 3]);
        assert!(!set.is_empty() && RoleSet::default().is_empty());
        assert_eq!(roles(1..=500).as_slice().len(), RoleSet::MAX);
        let (different, repeated) = ((1..=501).collect::<Vec<_>>(), vec![1; 501]);
        for ids in [different, repeated] {
            let too_many = ids.into_iter().map(|id| RoleId::new(id).unwrap()).collect();
            assert_eq!(RoleSet::new(too_many).unwrap_err().field, "roles");
        }
    }

    #[test]
    fn members_hold_the_keys_bound_to_their_roles() {
        let bindings = RoleBindings::new([
            (RoleKey::Mod, roles([5, 6])),
            (RoleKey::Admin, roles([7])),
            (RoleKey::ErlcStaff, RoleSet::default()),
        ]);
        let held = |ids: &[u64]| bindings.held_by(&roles(ids.iter().copied())).collect::<Vec<_>>();
        assert_eq!(held(&[6]), [RoleKey::Mod]);
        assert_eq!(held(&[1, 5, 7]), [RoleKey::Mod, RoleKey::Admin]);
        assert_eq!(held(&[8]), []);
        assert_eq!(held(&[]), []);
        assert_eq!(bindings.iter().count(), 2, "a key without roles is dropped");
    }

    #[test]
    fn member_counts_fit_31_bits() {
        assert_eq!(MemberCount::new(2_147_483_647).map(MemberCount::get), Ok(MemberCount::MAX));
        for count in [2_147_483_648, u64::MAX] {
            assert_eq!(MemberCount::new(count).unwrap_err().field, "members");
        }
    }
}
