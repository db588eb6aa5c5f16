//! Premium subscriptions.

use super::{
    column::any_of,
    column::{MAX_VALUES, from_column, from_text, to_column, to_text},
    history::{Write, removed},
    row::{Row, SubscriptionGuildRow, SubscriptionRow, read},
    unreadable::Unreadable,
};
use crate::{
    connection::AnyConnection,
    failure::{RowError, WorkError},
    schema::{subscription_guilds, subscriptions},
};
use companion_domain::{
    change::{Subject, Tally},
    model::{GuildId, Slots, SubscribedGuilds, Subscription, UserId},
};
use diesel::{ExpressionMethods, QueryDsl, QueryResult, RunQueryDsl, SelectableHelper};
use std::{collections::BTreeSet, sync::Arc};

impl From<&Subscription> for SubscriptionRow {
    fn from(subscription: &Subscription) -> Self {
        Self {
            user_id: to_column(subscription.user),
            slots: subscription.slots.get().into(),
            guilds: to_text(subscription.guilds.as_slice()),
        }
    }
}

impl TryFrom<SubscriptionRow> for Subscription {
    type Error = RowError;

    fn try_from(row: SubscriptionRow) -> Result<Self, RowError> {
        Ok(Self {
            user: read!(row.user_id, from_column),
            guilds: read!(row.guilds, |guilds| from_text(guilds).and_then(SubscribedGuilds::new)),
            slots: read!(row.slots, |slots| {
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

pub(crate) fn of_user(
    db: &mut AnyConnection,
    user: UserId,
    unreadable: &Unreadable,
) -> QueryResult<Option<Arc<Subscription>>> {
    let row = SubscriptionRow::stored(db, (to_column(user),))?;
    Ok(row.and_then(|row| unreadable.one(row)).map(Arc::new))
}

/// Returns the subscriptions that name any of these guilds.
pub(crate) fn guild_subscriptions(
    db: &mut AnyConnection,
    guilds: &[GuildId],
    unreadable: &Unreadable,
) -> QueryResult<Vec<Arc<Subscription>>> {
    let guilds: Vec<_> = guilds.iter().copied().map(to_column).collect();
    let mut users = BTreeSet::new();
    for some in guilds.chunks(MAX_VALUES) {
        let found: Vec<i64> = subscription_guilds::table
            .filter(any_of(subscription_guilds::guild, some))
            .select(subscription_guilds::user_id)
            .load(db)?;
        users.extend(found);
    }
    let users: Vec<_> = users.into_iter().collect();
    let mut found = Vec::with_capacity(users.len());
    for some in users.chunks(MAX_VALUES) {
        let rows: Vec<SubscriptionRow> = subscriptions::table
            .filter(any_of(subscriptions::user_id, some))
            .select(SubscriptionRow::as_select())
            .load(db)?;
        found.extend(unreadable.all(rows).into_iter().map(Arc::new));
    }
    Ok(found)
}

pub(crate) fn put(write: &mut Write<'_>, subscription: &Subscription) -> Result<Tally, WorkError> {
    let row = SubscriptionRow::from(subscription);
    let tally = row.put(write.db)?;
    if tally == Tally::NOTHING {
        return Ok(tally);
    }
    let earlier = subscription_guilds::user_id.eq(row.user_id);
    diesel::delete(subscription_guilds::table.filter(earlier)).execute(write.db)?;
    for named in named_guilds(subscription) {
        diesel::insert_into(subscription_guilds::table).values(named).execute(write.db)?;
    }
    Ok(write.noted(tally, || Subject::Subscription(subscription.user)))
}

/// Removes a user's subscription. The foreign key removes the guilds that it names.
pub(crate) fn remove(write: &mut Write<'_>, user: UserId) -> Result<Tally, WorkError> {
    let gone = diesel::delete(subscriptions::table.find(to_column(user))).execute(write.db)?;
    Ok(write.noted(removed(gone), || Subject::Subscription(user)))
}
