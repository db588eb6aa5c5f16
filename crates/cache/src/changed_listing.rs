//! A cached listing of which a single guild is stale. Reloading that guild is enough.

use companion_domain::{model::GuildId, port::Listing};
use std::sync::Arc;

/// A listing, and the only guild of it that has changed since it was read.
pub(crate) struct ChangedListing {
    pub(crate) listing: Arc<Listing>,
    pub(crate) guild: GuildId,
}

impl ChangedListing {
    /// Returns the listing with the stored state of the guild. Returns `None` if the user's own part has changed as well.
    pub(crate) fn with(&self, stored: &Listing) -> Option<Listing> {
        let Self { listing, guild } = self;
        let Listing { blocked, grant, subscription, staff, guilds, guild_subscriptions } = stored;
        let same_user = listing.blocked == *blocked
            && listing.grant == *grant
            && listing.subscription == *subscription
            && listing.staff == *staff;
        if !same_user {
            return None;
        }
        let others = listing.guilds.iter().filter(|seen| seen.guild.id != *guild);
        // A subscription that names several guilds of the list is in both parts.
        let naming_others = listing
            .guild_subscriptions
            .iter()
            .filter(|guild_subscriptions| !guild_subscriptions.guilds.as_slice().contains(guild));
        Some(Listing {
            guilds: others.chain(guilds).cloned().collect(),
            guild_subscriptions: naming_others.chain(guild_subscriptions).cloned().collect(),
            blocked: *blocked,
            grant: grant.clone(),
            subscription: subscription.clone(),
            staff: *staff,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::ChangedListing;
    use crate::{
        entries::{
            Entries,
            tests::{a_listing, entries},
        },
        key::Key,
    };
    use companion_domain::{
        change::Kind,
        model::StaffPermission,
        port::{GrantSummary, GrantVersion, Listing},
    };
    use companion_testkit::world::{a_subscription, guild_id, user_id};
    use std::sync::Arc;

    fn entries_with_a_listing() -> Entries {
        let entries = entries();
        entries.insert_listing(user_id(1), a_listing([1, 2]), 0);
        entries
    }

    #[test]
    fn reloads_one_guild_only_if_nothing_else_was_invalidated() {
        let entries = entries_with_a_listing();
        let changed = |entries: &Entries| entries.begin_load(user_id(1)).1.map(|changed| changed.guild);
        assert_eq!(changed(&entries), None);
        entries.invalidate([Key::Guild(guild_id(2))]);
        assert_eq!(changed(&entries), Some(guild_id(2)));
        entries.invalidate_kind(Kind::Member);
        assert_eq!(changed(&entries), None, "any member may have other roles");
        let entries = entries_with_a_listing();
        entries.invalidate([Key::Guild(guild_id(1)), Key::Guild(guild_id(2))]);
        assert_eq!(changed(&entries), None, "two guilds");
        let entries = entries_with_a_listing();
        entries.invalidate([Key::Guild(guild_id(1)), Key::User(user_id(1))]);
        assert_eq!(changed(&entries), None, "the user too");
    }

    #[test]
    fn rejects_a_merge_if_the_users_own_part_changed() {
        let grant = GrantSummary { version: GrantVersion(1), renewable: false, list: None, profile: None };
        let before = ChangedListing { listing: Arc::default(), guild: guild_id(1) };
        for stored in [
            Listing { blocked: true, ..Listing::default() },
            Listing { grant: Some(grant), ..Listing::default() },
            Listing { subscription: Some(Arc::new(a_subscription(1, &[]))), ..Listing::default() },
            Listing { staff: [StaffPermission::Support].into_iter().collect(), ..Listing::default() },
        ] {
            assert_eq!(before.with(&stored), None, "{stored:?}");
        }
        assert_eq!(before.with(&Listing::default()), Some(Listing::default()));
    }
}
