//! Subscriptions as rows.

use super::{
    makes_no_sense,
    snowflake::{from_column, from_text, to_column, to_text},
    unreadable::{Key, Keyed},
};
use crate::{
    failure::RowError,
    schema::{subscription_guilds, subscriptions},
};
use companion_domain::model::{Slots, SubscribedGuilds, Subscription};
use diesel::{AsChangeset, Insertable, Queryable, Selectable};

#[derive(Debug, PartialEq, Eq, Queryable, Selectable, Insertable, AsChangeset)]
#[diesel(table_name = subscriptions)]
pub(crate) struct SubscriptionRow {
    pub(crate) user_id: i64,
    pub(crate) slots: i64,
    pub(crate) guilds: String,
}

/// A guild that a subscription names, for finding it by its guilds.
#[derive(Debug, Insertable)]
#[diesel(table_name = subscription_guilds)]
pub(crate) struct SubscriptionGuildRow {
    pub(crate) user_id: i64,
    pub(crate) guild: i64,
}

impl From<&Subscription> for SubscriptionRow {
    fn from(subscription: &Subscription) -> Self {
        Self {
            user_id: to_column(subscription.user),
            slots: subscription.slots.get().into(),
            guilds: to_text(subscription.guilds.as_slice()),
        }
    }
}

impl SubscriptionGuildRow {
    pub(crate) fn all_of(subscription: &Subscription) -> impl Iterator<Item = Self> {
        let user_id = to_column(subscription.user);
        let guilds = subscription.guilds.as_slice().iter();
        guilds.map(move |guild| Self { user_id, guild: to_column(*guild) })
    }
}

impl Keyed for SubscriptionRow {
    fn key(&self) -> Key {
        Key::Id(self.user_id)
    }
}

impl TryFrom<SubscriptionRow> for Subscription {
    type Error = RowError;

    fn try_from(row: SubscriptionRow) -> Result<Self, RowError> {
        let slots = u64::try_from(row.slots).ok().and_then(|slots| Slots::new(slots).ok());
        Ok(Self {
            user: from_column(row.user_id, "subscriptions", "user_id")?,
            guilds: from_text(&row.guilds)
                .and_then(SubscribedGuilds::new)
                .map_err(makes_no_sense("subscriptions", "guilds"))?,
            slots: slots.ok_or(()).map_err(makes_no_sense("subscriptions", "slots"))?,
        })
    }
}
