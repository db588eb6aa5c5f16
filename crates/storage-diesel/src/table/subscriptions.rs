//! Premium subscriptions.

use super::{
    column::{Field, MAX_VALUES, any_of},
    history::Write,
    row::{Columns as _, Row as _, SubscriptionGuildRow, SubscriptionRow},
    unreadable::Unreadable,
};
use crate::{connection::AnyConnection, failure::WorkError, schema::subscription_guilds};
use companion_domain::{
    change::{Subject, Tally},
    model::{GuildId, Subscription},
};
use diesel::{ExpressionMethods, QueryDsl, RunQueryDsl};
use std::{collections::BTreeSet, sync::Arc};

/// Returns the guilds that a subscription names, as rows of the lookup table.
pub(super) fn named_guilds(subscription: &Subscription) -> impl Iterator<Item = SubscriptionGuildRow> {
    let user_id = subscription.user.column();
    let guilds = subscription.guilds.as_slice().iter();
    guilds.map(move |guild| SubscriptionGuildRow { user_id, guild: guild.column() })
}

/// Returns the subscriptions that name any of these guilds.
pub(crate) fn guild_subscriptions(
    db: &mut AnyConnection,
    guilds: &[GuildId],
    unreadable: &Unreadable,
) -> Result<Vec<Arc<Subscription>>, WorkError> {
    let guilds: Vec<_> = guilds.iter().map(Field::column).collect();
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
    let earlier = subscription_guilds::user_id.eq(subscription.user.column());
    diesel::delete(subscription_guilds::table.filter(earlier)).execute(write.db)?;
    for named in named_guilds(subscription) {
        diesel::insert_into(subscription_guilds::table).values(named).execute(write.db)?;
    }
    Ok(write.noted(tally, || Subject::Subscription(subscription.user)))
}
