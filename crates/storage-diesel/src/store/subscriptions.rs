//! Premium subscriptions.

use super::{AT_ONCE, removed};
use crate::{
    connection::AnyConnection,
    failure::Failure,
    row::{
        snowflake::to_column,
        subscription::{SubscriptionGuildRow, SubscriptionRow},
        unreadable::Unreadable,
    },
    schema::{subscription_guilds, subscriptions},
    storage::DieselStorage,
    writer::Write,
};
use async_trait::async_trait;
use companion_domain::{
    change::{Subject, Tally},
    model::{GuildId, Subscription, UserId},
    port::{StoreError, SubscriptionStore},
};
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl, QueryResult, RunQueryDsl, SelectableHelper};
use std::{collections::BTreeSet, sync::Arc};

fn find(db: &mut AnyConnection, user: UserId) -> QueryResult<Option<SubscriptionRow>> {
    subscriptions::table.find(to_column(user)).select(SubscriptionRow::as_select()).first(db).optional()
}

fn naming(
    db: &mut AnyConnection,
    guilds: &[i64],
    unreadable: &Unreadable,
) -> QueryResult<Vec<Arc<Subscription>>> {
    let mut users = BTreeSet::new();
    for some in guilds.chunks(AT_ONCE) {
        let found: Vec<i64> = subscription_guilds::table
            .filter(subscription_guilds::guild.eq_any(some))
            .select(subscription_guilds::user_id)
            .load(db)?;
        users.extend(found);
    }
    let users: Vec<_> = users.into_iter().collect();
    let mut found = Vec::with_capacity(users.len());
    for some in users.chunks(AT_ONCE) {
        let rows: Vec<SubscriptionRow> = subscriptions::table
            .filter(subscriptions::user_id.eq_any(some))
            .select(SubscriptionRow::as_select())
            .load(db)?;
        found.extend(unreadable.all(rows).into_iter().map(Arc::new));
    }
    Ok(found)
}

fn put(write: &mut Write<'_>, subscription: &Subscription) -> Result<Tally, Failure> {
    let row = SubscriptionRow::from(subscription);
    let tally = match find(write.db, subscription.user)? {
        Some(kept) if kept == row => return Ok(Tally::NOTHING),
        Some(_) => {
            let earlier = subscription_guilds::user_id.eq(row.user_id);
            diesel::delete(subscription_guilds::table.filter(earlier)).execute(write.db)?;
            diesel::update(subscriptions::table.find(row.user_id)).set(&row).execute(write.db)?;
            Tally::CHANGED
        }
        None => {
            diesel::insert_into(subscriptions::table).values(&row).execute(write.db)?;
            Tally::ADDED
        }
    };
    for named in SubscriptionGuildRow::all_of(subscription) {
        diesel::insert_into(subscription_guilds::table).values(named).execute(write.db)?;
    }
    Ok(write.noted(tally, || Subject::Subscription(subscription.user)))
}

/// Removes a user's subscription. The guilds that it names go with it.
pub(super) fn remove(write: &mut Write<'_>, user: UserId) -> Result<Tally, Failure> {
    let gone = diesel::delete(subscriptions::table.find(to_column(user))).execute(write.db)?;
    Ok(write.noted(removed(gone), || Subject::Subscription(user)))
}

#[async_trait]
impl SubscriptionStore for DieselStorage {
    async fn of_user(&self, user: UserId) -> Result<Option<Arc<Subscription>>, StoreError> {
        let unreadable = self.unreadable();
        self.read(move |db| Ok(find(db, user)?.and_then(|row| unreadable.one(row)).map(Arc::new))).await
    }

    async fn naming(&self, guilds: &[GuildId]) -> Result<Vec<Arc<Subscription>>, StoreError> {
        if guilds.is_empty() {
            return Ok(Vec::new());
        }
        let guilds: Vec<_> = guilds.iter().copied().map(to_column).collect();
        let unreadable = self.unreadable();
        self.snapshot(move |db| Ok(naming(db, &guilds, &unreadable)?)).await
    }

    async fn put(&self, subscription: &Subscription) -> Result<Tally, StoreError> {
        let subscription = subscription.clone();
        self.write(move |write| put(write, &subscription)).await
    }

    async fn remove(&self, user: UserId) -> Result<Tally, StoreError> {
        self.write(move |write| remove(write, user)).await
    }
}
