//! Premium subscriptions.

use super::{
    column::{MAX_VALUES, any_of, from_column, from_text, to_column, to_text},
    history::Write,
    row::{Columns as _, Row, SubscriptionGuildRow, SubscriptionRow, read},
    unreadable::Unreadable,
};
use crate::{
    connection::AnyConnection,
    failure::{RowError, WorkError},
    schema::subscription_guilds,
};
use companion_domain::{
    change::{Subject, Tally},
    model::{GuildId, Slots, SubscribedGuilds, Subscription},
};
use diesel::{ExpressionMethods, QueryDsl, RunQueryDsl};
use std::{collections::BTreeSet, sync::Arc};

impl Row for SubscriptionRow {
    type Value = Subscription;

    fn of(subscription: &Subscription) -> Self {
        Self {
            user_id: to_column(subscription.user),
            slots: subscription.slots.get().into(),
            guilds: to_text(subscription.guilds.as_slice()),
        }
    }

    fn read(&self, _: &Unreadable) -> Result<Subscription, RowError> {
        Ok(Subscription {
            user: read!(self.user_id, from_column),
            guilds: read!(self.guilds, |guilds| from_text(guilds).and_then(SubscribedGuilds::new)),
            slots: read!(self.slots, |slots| {
                u64::try_from(*slots).ok().and_then(|slots| Slots::new(slots).ok()).ok_or(())
            }),
        })
    }
}

/// Returns the guilds that a subscription names, as rows of the lookup table.
pub(super) fn named_guilds(subscription: &Subscription) -> impl Iterator<Item = SubscriptionGuildRow> {
    let user_id = to_column(subscription.user);
    let guilds = subscription.guilds.as_slice().iter();
    guilds.map(move |guild| SubscriptionGuildRow { user_id, guild: to_column(*guild) })
}

/// Returns the subscriptions that name any of these guilds.
pub(crate) fn guild_subscriptions(
    db: &mut AnyConnection,
    guilds: &[GuildId],
    unreadable: &Unreadable,
) -> Result<Vec<Arc<Subscription>>, WorkError> {
    let guilds: Vec<_> = guilds.iter().copied().map(to_column).collect();
    let mut users = BTreeSet::new();
    for some in guilds.chunks(MAX_VALUES) {
        let (any, values) = any_of(some);
        let naming = SubscriptionGuildRow::select(db, &format!("WHERE guild {any}"), values)?;
        users.extend(naming.into_iter().map(|row| row.user_id));
    }
    let users: Vec<_> = users.into_iter().collect();
    let mut found = Vec::with_capacity(users.len());
    for some in users.chunks(MAX_VALUES) {
        let (any, values) = any_of(some);
        let theirs = SubscriptionRow::all(db, unreadable, &format!("WHERE user_id {any}"), values)?;
        found.extend(theirs.into_iter().map(Arc::new));
    }
    Ok(found)
}

pub(crate) fn put(write: &mut Write<'_>, subscription: &Subscription) -> Result<Tally, WorkError> {
    let tally = SubscriptionRow::of(subscription).put(write.db)?;
    if tally == Tally::NOTHING {
        return Ok(tally);
    }
    let earlier = subscription_guilds::user_id.eq(to_column(subscription.user));
    diesel::delete(subscription_guilds::table.filter(earlier)).execute(write.db)?;
    for named in named_guilds(subscription) {
        diesel::insert_into(subscription_guilds::table).values(named).execute(write.db)?;
    }
    Ok(write.noted(tally, || Subject::Subscription(subscription.user)))
}
