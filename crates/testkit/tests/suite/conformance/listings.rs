//! Wrong readers of all that a listing is made of.

use crate::conformance::proof::{faults, locked, stores, with};
use async_trait::async_trait;
use companion_domain::{
    model::UserId,
    port::{Asked, Listing, Listings, StoreError, Stores},
};
use companion_testkit::{
    conformance::Fresh,
    world::{guild_id, user_id},
};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

faults! {
    enum Fault {}
    listings(Fresh::new(Arc::new(stores())), wrong) {
        no_write_is_seen_in_part: InSteps "it reads one after the other";
        a_long_list_is_read_whole_and_each_guild_once:
            FirstPage "it reads a page of a long list",
            Twice "a guild that is listed twice is read twice",
            ListCut "the list of a grant is cut at a thousand";
        what_concerns_others_is_left_out: RolesOfAnyone "roles of another user are shown";
        everything_that_is_stored_of_a_user_is_read:
            OwnSubscriptionOnly "only the user's own subscription makes guilds premium",
            NoBlock "a block is not seen",
            NoStaff "what was granted by name is not seen";
        one_guild_is_read_whether_or_not_the_list_has_it:
            ListDecides "a guild outside of the list is not found",
            NamingWithBotOnly "of a guild without the bot nobody is a sponsor";
        without_a_list_no_guild_is_read: EveryGuild "without a list every guild is read";
        several_users_are_read_in_the_order_they_were_asked_for: Sorted "several users are read in an order of its own";
        every_part_of_a_listing_is_read_anew:
            Remembered "a listing is read once and remembered",
            AtHandRemembered "the first listing stays at hand";
    }
}

fn wrong(fault: Fault) -> Fresh<Stores> {
    with(|stores| {
        let parts = stores.clone();
        stores.stored_listings = Arc::new(Wrong { parts, fault, first: Mutex::default() });
    })
}

struct Wrong {
    parts: Stores,
    fault: Fault,
    /// The first listing of each user.
    first: Mutex<HashMap<UserId, Listing>>,
}

impl Wrong {
    /// Waits until someone else has written, where anyone does.
    async fn wait_for_a_write(&self) -> Result<(), StoreError> {
        let before = self.parts.changes.latest().await?;
        for _ in 0..10_000 {
            if self.parts.changes.latest().await? != before {
                break;
            }
            tokio::task::yield_now().await;
        }
        Ok(())
    }
}

#[async_trait]
impl Listings for Wrong {
    async fn read(&self, user: UserId, asked: Asked) -> Result<Arc<Listing>, StoreError> {
        let mut listing = Arc::unwrap_or_clone(self.parts.listings().read(user, asked).await?);
        match self.fault {
            Fault::InSteps => {
                self.wait_for_a_write().await?;
                listing.blocked = self.parts.blocked.is_blocked(user).await?;
            }
            Fault::Remembered if listing.grant.is_some() && asked == Asked::List => {
                let mut first = locked(&self.first);
                listing = first.entry(user).or_insert(listing).clone();
            }
            Fault::AtHandRemembered if asked == Asked::List => {
                locked(&self.first).entry(user).or_insert(listing.clone());
            }
            Fault::ListCut => {
                if let Some(list) = listing.grant.as_mut().and_then(|grant| grant.list.as_mut()) {
                    list.memberships = list.memberships.iter().copied().take(1000).collect();
                }
            }
            Fault::FirstPage => listing.guilds.truncate(100),
            Fault::Twice => listing.guilds.extend(listing.guilds.first().cloned()),
            Fault::RolesOfAnyone => {
                for seen in &mut listing.guilds {
                    let others = self.parts.guilds.seen_by(user_id(2), &[seen.guild.id]).await?;
                    seen.roles = others.into_iter().next().map(|other| other.roles).unwrap_or_default();
                }
            }
            Fault::OwnSubscriptionOnly => listing.naming.retain(|subscription| subscription.user == user),
            Fault::ListDecides => {
                let listed = Asked::List.guilds(listing.grant.as_ref());
                listing.guilds.retain(|seen| listed.contains(&seen.guild.id));
            }
            Fault::NoBlock => listing.blocked = false,
            Fault::NoStaff => listing.staff = [].into_iter().collect(),
            Fault::EveryGuild if asked == Asked::List && listing.guilds.is_empty() => {
                let guilds: Vec<_> = (1..10).map(guild_id).collect();
                listing.guilds = self.parts.guilds.seen_by(user, &guilds).await?;
            }
            Fault::NamingWithBotOnly if listing.guilds.is_empty() => listing.naming.clear(),
            _ => {}
        }
        Ok(Arc::new(listing))
    }

    fn at_hand(&self, user: UserId) -> Option<Arc<Listing>> {
        let first = locked(&self.first).get(&user).cloned();
        if self.fault == Fault::AtHandRemembered { first.map(Arc::new) } else { None }
    }

    async fn read_many(&self, users: &[UserId]) -> Result<Vec<Arc<Listing>>, StoreError> {
        let mut users = users.to_vec();
        if self.fault == Fault::Sorted {
            users.sort();
        }
        self.parts.listings().read_many(&users).await
    }
}
