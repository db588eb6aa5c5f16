//! Premium subscriptions.

use crate::record::record;
use companion_domain::model::{Slots, SubscribedGuilds, Subscription, UserId};

record! {
    /// A user's premium subscription.
    pub SubscriptionRecord("plus") of Subscription {
        key {
            /// The user's id.
            user ["user"] in "user": UserId = user;
        }
        fields {
            /// The guilds that are premium by it.
            guilds ["guilds"]: SubscribedGuilds = guilds;
            /// How many guilds it could be spent on.
            slots ["slots"]: Slots = slots;
        }
        example {"guilds": ["190000000000000001"], "slots": 3}
    }
    Subscription { user, guilds, slots }
}
