//! Premium subscriptions.

use super::{GuildId, Invalid, UserId};

/// A user's premium subscription and the guilds it is spent on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscription {
    /// The user who pays.
    pub user: UserId,
    /// The guilds that the subscription makes premium.
    pub guilds: SubscribedGuilds,
    /// Number of guilds that it may name.
    pub slots: Slots,
}

impl Subscription {
    /// Returns whether the subscription makes its user a premium member: it has slots, or names a guild.
    #[must_use]
    pub fn grants_membership(&self) -> bool {
        self.slots.get() > 0 || !self.guilds.as_slice().is_empty()
    }
}

/// Guilds in their original order, without duplicates.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SubscribedGuilds(Box<[GuildId]>);

impl SubscribedGuilds {
    /// Maximum number of guilds in a subscription.
    pub const MAX: usize = 1000;

    /// Collects guilds and removes duplicates after the first. Duplicates count towards the limit.
    pub fn new(guilds: Vec<GuildId>) -> Result<Self, Invalid> {
        if guilds.len() > Self::MAX {
            return Err(Invalid::new("guilds", "a list of at most 1000 guild ids"));
        }
        let mut seen = std::collections::HashSet::with_capacity(guilds.len());
        Ok(Self(guilds.into_iter().filter(|guild| seen.insert(*guild)).collect()))
    }

    /// Returns the guilds in their original order.
    #[must_use]
    pub fn as_slice(&self) -> &[GuildId] {
        &self.0
    }
}

/// A number of premium slots.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slots(u32);

impl Slots {
    /// The largest accepted number.
    pub const MAX: u32 = 2_147_483_647;

    /// Validates a number of slots.
    pub fn new(slots: u64) -> Result<Self, Invalid> {
        let slots = u32::try_from(slots).ok().filter(|slots| *slots <= Self::MAX);
        slots.map(Self).ok_or(Invalid::new("slots", "a whole number from 0 to 2147483647"))
    }

    /// Returns the number of slots.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guilds(ids: impl IntoIterator<Item = u64>) -> Result<SubscribedGuilds, Invalid> {
        SubscribedGuilds::new(ids.into_iter().map(|id| GuildId::new(id).unwrap()).collect())
    }

    #[test]
    fn guilds_keep_their_order_and_are_deduplicated() {
        let ids: Vec<_> = guilds([9, 1, 9, 4]).unwrap().as_slice().iter().map(|id| id.get()).collect();
        assert_eq!(ids, [9, 1, 4]);
        assert_eq!(guilds(1..=1000).unwrap().as_slice().len(), SubscribedGuilds::MAX);
        assert_eq!(guilds(1..=1001).unwrap_err().field, "guilds");
        assert_eq!(guilds(std::iter::repeat_n(1, 1001)).unwrap_err().field, "guilds");
    }

    #[test]
    fn slots_fit_31_bits() {
        assert_eq!(Slots::new(2_147_483_647).map(Slots::get), Ok(Slots::MAX));
        assert_eq!(Slots::new(2_147_483_648).unwrap_err().field, "slots");
    }
}
