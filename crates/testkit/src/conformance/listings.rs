//! The contract of [`Listings`](companion_domain::port::Listings).

use super::{
    Fresh, Stores,
    concurrency::reading_while_writing,
    prepared::granted,
    records::{put_all, replacing},
    sample::{grant, guild, guild_id, listing, member, membership, name, staff, subscription, user_id},
    stream::Stream,
};
use companion_domain::{
    change::{Key, Kind},
    model::{Guild, GuildId, GuildWithRoles, StaffPermission, UserId},
    port::{GrantContent, GrantSummary, Listing, ListingScope, Record, Replace, StoreError, StoreErrorKind},
};
use std::sync::Arc;

suite! {
    /// Generates one test per behaviour of `Listings`. It needs all storage ports.
    listings_conformance($): listings, Stores;
    leaves_out_data_of_other_users,
    reads_a_long_list_completely_and_each_guild_once,
    reads_one_guild_whether_listed_or_not,
    finds_each_subscription_of_a_guild_once,
    writes_are_never_partially_visible,
    every_part_of_a_listing_is_fresh,
    leaves_out_unreadable_values,
    an_unreadable_grant_is_corrupt_unless_blocked,
}

/// Returns a grant with a list of these guilds.
fn listing_guilds(guilds: impl IntoIterator<Item = u64>) -> GrantContent {
    listing(guilds.into_iter().map(|number| membership(number, false, number)))
}

/// Reads a listing, sorted for comparison.
async fn read(stores: &Stores, user: UserId, asked: ListingScope) -> Result<Listing, StoreError> {
    Ok(in_order(stores.listings().read(user, asked).await?))
}

fn in_order(listing: Arc<Listing>) -> Listing {
    let mut listing = Arc::unwrap_or_clone(listing);
    listing.guilds.sort_by_key(|seen| seen.guild.id);
    listing.guild_subscriptions.sort_by_key(|subscription| subscription.user);
    listing
}

/// Returns a guild as a user with these roles sees it.
fn seen(number: u64, roles: &[u64]) -> GuildWithRoles {
    let roles = Arc::new(member(guild_id(number), user_id(1), roles).roles);
    GuildWithRoles { guild: Arc::new(guild(guild_id(number))), roles }
}

async fn grant_of(stores: &Stores, user: UserId) -> Option<GrantSummary> {
    stores.grants.find(user).await.unwrap().map(GrantSummary::from)
}

async fn leaves_out_data_of_other_users(fresh: &Fresh<Stores>) {
    let (stores, user, other) = (&fresh.one, user_id(1), user_id(2));
    granted(stores, other, &listing_guilds([1])).await;
    let theirs = [
        Record::Blocked(other),
        Record::Guild(guild(guild_id(1))),
        Record::Guild(guild(guild_id(2))),
        Record::Member(member(guild_id(1), other, &[5])),
        Record::Member(member(guild_id(2), other, &[5])),
        Record::Subscription(subscription(other, [1], 1)),
        Record::Staff(other, staff([StaffPermission::Founder])),
    ];
    put_all(stores, theirs).await;
    assert_eq!(read(stores, user, ListingScope::List).await.unwrap(), Listing::default());
    // Without a list, no guild is read.
    for (list, guilds) in [(None, vec![]), (listing_guilds([2]).list, vec![seen(2, &[])])] {
        granted(stores, user, &GrantContent { list, ..grant(1) }).await;
        let expected = Listing { grant: grant_of(stores, user).await, guilds, ..Listing::default() };
        assert_eq!(read(stores, user, ListingScope::List).await.unwrap(), expected);
    }
}

async fn reads_a_long_list_completely_and_each_guild_once(fresh: &Fresh<Stores>) {
    let (user, listed) = (user_id(1), 1..=1200);
    // The platform repeats some of them.
    let list = listing_guilds(listed.clone().chain(1..=50));
    granted(&fresh.one, user, &list).await;
    let present = || listed.clone().filter(|number| number % 2 == 0);
    let records = present().flat_map(|number| {
        let id = guild_id(number);
        let sponsor = subscription(user_id(5000 + number), [number, number + 5000], 0);
        [Record::Guild(guild(id)), Record::Member(member(id, user, &[number])), Record::Subscription(sponsor)]
    });
    let mut stream = Stream::in_batches(records, 500);
    fresh.one.records.sync(&Replace::default(), &mut stream).await.unwrap();
    fresh.settle().await;
    let Listing { grant, guilds, guild_subscriptions, .. } =
        read(&fresh.other, user, ListingScope::List).await.unwrap();
    assert_eq!(grant.map(|grant| grant.list), Some(list.list));
    let expected: Vec<_> = present().map(|number| seen(number, &[number])).collect();
    assert!(guilds == expected, "{} guilds", guilds.len());
    let subscribers: Vec<_> = guild_subscriptions.iter().map(|subscription| subscription.user).collect();
    assert_eq!(subscribers, present().map(|number| user_id(5000 + number)).collect::<Vec<_>>());
}

async fn reads_one_guild_whether_listed_or_not(fresh: &Fresh<Stores>) {
    let (stores, user) = (&fresh.one, user_id(1));
    put_all(stores, [1, 2, 3].map(|number| Record::Guild(guild(guild_id(number))))).await;
    let sponsor = Arc::new(subscription(user_id(8), [2, 4], 0));
    stores.records.put(Record::Subscription((*sponsor).clone())).await.unwrap();
    for signed_in in [false, true] {
        if signed_in {
            granted(stores, user, &listing_guilds([1, 3])).await;
        }
        let grant = grant_of(stores, user).await;
        for (number, guilds, guild_subscriptions) in [
            (1, vec![seen(1, &[])], vec![]),
            (2, vec![seen(2, &[])], vec![sponsor.clone()]),
            // It has no bot.
            (4, vec![], vec![sponsor.clone()]),
        ] {
            let expected =
                Listing { grant: grant.clone(), guilds, guild_subscriptions, ..Listing::default() };
            assert_eq!(read(stores, user, ListingScope::Guild(guild_id(number))).await.unwrap(), expected);
        }
    }
}

async fn finds_each_subscription_of_a_guild_once(fresh: &Fresh<Stores>) {
    let (stores, reader) = (&fresh.one, user_id(9999));
    let subscribed =
        |user, guilds: &[u64]| Record::Subscription(subscription(user_id(user), guilds.iter().copied(), 9));
    let names = async |guilds: &[u64], expected: &[u64]| {
        granted(stores, reader, &listing_guilds(guilds.iter().copied())).await;
        let listing = read(stores, reader, ListingScope::List).await.unwrap();
        let users: Vec<_> = listing.guild_subscriptions.iter().map(|one| one.user.get()).collect();
        assert_eq!(users, expected, "naming {guilds:?}");
    };
    let far = [1 << 63, (1 << 63) + 1, (1 << 63) + 2, u64::MAX];
    let few = [(1, &[10, 11, 12][..]), (2, &[11]), (3, &[13]), (4, &[])];
    let few = few.map(|(user, guilds)| subscribed(user, guilds));
    put_all(stores, few.into_iter().chain(far.map(|id| subscribed(id, &[id])))).await;
    for (guilds, expected) in [
        (&[11][..], &[1, 2][..]),
        (&[10, 11, 12], &[1, 2]),
        (&[11, 11, 11], &[1, 2]),
        (&[13, 10], &[1, 3]),
        (&[99], &[]),
        (&[], &[]),
    ] {
        names(guilds, expected).await;
    }
    for id in far {
        names(&[id], &[id]).await;
    }
    stores.records.put(subscribed(1, &[12, 14])).await.unwrap();
    for (guild, expected) in [(10, &[][..]), (12, &[1]), (14, &[1])] {
        names(&[guild], expected).await;
    }
    stores.records.remove(Key::Subscription(user_id(1))).await.unwrap();
    names(&[12, 14], &[]).await;
}

/// Returns one of two worlds that differ in every part of a listing.
fn world(second: bool, user: UserId) -> Vec<Record> {
    let (number, granted) =
        if second { (2, StaffPermission::Support) } else { (1, StaffPermission::Founder) };
    let named = |id: GuildId| Guild { name: name(&format!("World {number}")), ..guild(id) };
    let mut records = vec![
        Record::Guild(named(guild_id(1))),
        Record::Guild(named(guild_id(10 + number))),
        Record::Member(member(guild_id(1), user, &[number])),
        Record::Subscription(subscription(user, [number], number)),
        Record::Subscription(subscription(user_id(90 + number), [1], 0)),
        Record::Staff(user, staff([granted])),
    ];
    records.extend(second.then_some(Record::Blocked(user)));
    records
}

async fn writes_are_never_partially_visible(fresh: &Fresh<Stores>) {
    let user = user_id(1);
    granted(&fresh.one, user, &listing_guilds([1, 11, 12])).await;
    let everything = replacing([Kind::Guild, Kind::Member, Kind::Subscription, Kind::Staff, Kind::Blocked]);
    let become_world = async |second| {
        let mut stream = Stream::in_batches(world(second, user), 100);
        fresh.one.records.sync(&everything, &mut stream).await.unwrap();
    };
    let mut whole = Vec::new();
    for second in [true, false] {
        become_world(second).await;
        whole.push(read(&fresh.one, user, ListingScope::List).await.unwrap());
    }
    let read = move |stores: Arc<Stores>| {
        let whole = whole.clone();
        async move {
            let found = read(&stores, user, ListingScope::List).await.unwrap();
            assert!(whole.contains(&found), "half of one world and half of another: {found:?}");
        }
    };
    reading_while_writing(fresh, read, async |round| become_world(round % 2 == 0).await).await;
}

async fn every_part_of_a_listing_is_fresh(fresh: &Fresh<Stores>) {
    let (stores, user) = (&fresh.one, user_id(1));
    let mut expected = Listing::default();
    let check = async |expected: &Listing| {
        fresh
            .through_both(async |stores| {
                let before = stores.listings().cached(user);
                assert_eq!(&read(stores, user, ListingScope::List).await.unwrap(), expected);
                for cached in [before, stores.listings().cached(user)].into_iter().flatten() {
                    assert_eq!(&in_order(cached), expected);
                }
            })
            .await;
    };
    check(&expected).await;
    granted(stores, user, &listing_guilds([3, 1, 2, 9])).await;
    expected.grant = grant_of(stores, user).await;
    check(&expected).await;
    let (own, theirs) = (subscription(user, [1, 7], 2), subscription(user_id(8), [2, 3], 0));
    let granted = staff([StaffPermission::Founder, StaffPermission::Support]);
    type Change<'a> = &'a dyn Fn(&mut Listing);
    let steps: [(Record, Change<'_>); 7] = [
        (Record::Guild(guild(guild_id(1))), &|listing| listing.guilds = vec![seen(1, &[])]),
        (Record::Guild(guild(guild_id(3))), &|listing| listing.guilds.push(seen(3, &[]))),
        (Record::Member(member(guild_id(3), user, &[5, 6])), &|listing| {
            listing.guilds = vec![seen(1, &[]), seen(3, &[5, 6])];
        }),
        (Record::Subscription(own.clone()), &|listing| {
            listing.subscription = Some(Arc::new(own.clone()));
            listing.guild_subscriptions.push(Arc::new(own.clone()));
        }),
        (Record::Subscription(theirs.clone()), &|listing| {
            listing.guild_subscriptions.push(Arc::new(theirs.clone()));
        }),
        (Record::Staff(user, granted), &|listing| listing.staff = granted),
        (Record::Blocked(user), &|listing| listing.blocked = true),
    ];
    for (record, change) in steps {
        stores.records.put(record).await.unwrap();
        change(&mut expected);
        check(&expected).await;
    }
    stores.records.forget(user).await.unwrap();
    check(&Listing { blocked: true, ..Listing::default() }).await;
}

async fn leaves_out_unreadable_values(fresh: &Fresh<Stores>) {
    let (stores, user, other) = (&fresh.one, user_id(1), user_id(2));
    granted(stores, user, &listing_guilds([1, 2, 3])).await;
    let guilds = [1, 2, 3].map(|number| Record::Guild(guild(guild_id(number))));
    let others = [
        Record::Member(member(guild_id(2), user, &[5])),
        Record::Member(member(guild_id(3), user, &[5])),
        Record::Subscription(subscription(user, [1], 1)),
        Record::Subscription(subscription(other, [2], 1)),
        Record::Subscription(subscription(user_id(3), [2], 1)),
        Record::Staff(user, staff([StaffPermission::Support])),
    ];
    put_all(stores, guilds.into_iter().chain(others)).await;
    let damaged = [
        Key::Guild(guild_id(1)),
        Key::Member(guild_id(2), user),
        Key::Subscription(user),
        Key::Subscription(other),
        Key::Staff(user),
    ];
    if !fresh.damage(damaged).await {
        return;
    }
    let guild_subscriptions = vec![Arc::new(subscription(user_id(3), [2], 1))];
    for (asked, guilds, guild_subscriptions) in [
        (ListingScope::List, vec![seen(2, &[]), seen(3, &[5])], guild_subscriptions.clone()),
        (ListingScope::Guild(guild_id(1)), vec![], vec![]),
        (ListingScope::Guild(guild_id(2)), vec![seen(2, &[])], guild_subscriptions),
    ] {
        let grant = grant_of(stores, user).await;
        let expected = Listing { grant, guilds, guild_subscriptions, ..Listing::default() };
        assert_eq!(read(stores, user, asked).await.unwrap(), expected, "{asked:?}");
    }
}

async fn an_unreadable_grant_is_corrupt_unless_blocked(fresh: &Fresh<Stores>) {
    let (stores, user) = (&fresh.one, user_id(1));
    granted(stores, user, &listing_guilds([1])).await;
    if !fresh.damage([Key::Grant(user)]).await {
        return;
    }
    let refused = read(stores, user, ListingScope::List).await;
    assert!(matches!(&refused, Err(error) if error.kind == StoreErrorKind::Corrupt), "{refused:?}");
    stores.records.put(Record::Blocked(user)).await.unwrap();
    let expected = Listing { blocked: true, ..Listing::default() };
    let shown = fresh.shows(async |stores| read(stores, user, ListingScope::List).await.unwrap()).await;
    assert_eq!(shown, expected);
}
