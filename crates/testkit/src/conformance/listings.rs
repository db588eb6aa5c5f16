//! The contract of [`Listings`](companion_domain::port::Listings).

use super::{
    Damage, Fresh, Stores,
    concurrency::reading_while_writing,
    sample::{LOTS, at, grant, guild, guild_id, member, name, staff, subscription, user_id},
    stream::Stream,
};
use companion_domain::{
    change::{Key, Kind},
    model::{
        Guild, GuildId, GuildList, GuildWithRoles, Membership, PlatformPermissions, StaffPermission, UserId,
    },
    port::{
        GrantContent, GrantSummary, Listing, ListingScope, Mutation, Record, Replace, StoreError,
        StoreErrorKind,
    },
};
use std::sync::Arc;

suite! {
    /// Generates one test per behaviour of `Listings`. It needs all storage ports.
    listings_conformance($): listings, Stores;
    reads_everything_stored_about_a_user,
    leaves_out_data_of_other_users,
    reads_a_long_list_completely_and_each_guild_once,
    reads_one_guild_whether_listed_or_not,
    returns_several_users_in_the_requested_order,
    finds_each_subscription_of_a_guild_once,
    writes_are_never_partially_visible,
    every_part_of_a_listing_is_fresh,
    leaves_out_unreadable_values needs Damaging,
    an_unreadable_grant_is_corrupt_unless_blocked needs Damaging,
}

/// Returns a grant with a list of these guilds.
fn listing_guilds(guilds: impl IntoIterator<Item = u64>) -> GrantContent {
    let membership = |number| Membership {
        guild: guild_id(number),
        owner: false,
        permissions: PlatformPermissions::from_bits(number),
    };
    let memberships = guilds.into_iter().map(membership).collect();
    GrantContent {
        list: Some(GuildList { memberships, without_bot: Vec::new(), fetched_at: at(1) }),
        ..grant(1)
    }
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

async fn reads_everything_stored_about_a_user(fresh: &Fresh<Stores>) {
    let (stores, user) = (&fresh.one, user_id(1));
    stores.records.put(Record::Blocked(user)).await.unwrap();
    stores.grants.replace(user, &listing_guilds([3, 1, 2, 9])).await.unwrap();
    let present = [guild(guild_id(1)), guild(guild_id(3))];
    for guild in &present {
        stores.records.put(Record::Guild(guild.clone())).await.unwrap();
    }
    let roles = member(guild_id(3), user, &[5, 6]);
    stores.records.put(Record::Member(roles.clone())).await.unwrap();
    let (own, others) = (subscription(user, [1, 7], 2), subscription(user_id(8), [2, 3], 0));
    for subscription in [&own, &others] {
        stores.records.put(Record::Subscription(subscription.clone())).await.unwrap();
    }
    let granted = staff([StaffPermission::Founder, StaffPermission::Support]);
    stores.records.put(Record::Staff(user, granted)).await.unwrap();
    let [first, third] = present.map(Arc::new);
    let expected = Listing {
        blocked: true,
        grant: stores.grants.find(user).await.unwrap().map(GrantSummary::from),
        guilds: vec![
            GuildWithRoles { guild: first, roles: Arc::default() },
            GuildWithRoles { guild: third, roles: Arc::new(roles.roles) },
        ],
        guild_subscriptions: vec![Arc::new(own.clone()), Arc::new(others)],
        subscription: Some(Arc::new(own)),
        staff: granted,
    };
    fresh
        .through_both(async |stores| {
            assert_eq!(read(stores, user, ListingScope::List).await.unwrap(), expected);
        })
        .await;
}

async fn leaves_out_data_of_other_users(fresh: &Fresh<Stores>) {
    let (stores, other) = (&fresh.one, user_id(2));
    stores.records.put(Record::Blocked(other)).await.unwrap();
    stores.grants.replace(other, &listing_guilds([1])).await.unwrap();
    for number in [1, 2] {
        stores.records.put(Record::Guild(guild(guild_id(number)))).await.unwrap();
        stores.records.put(Record::Member(member(guild_id(number), other, &[5]))).await.unwrap();
    }
    stores.records.put(Record::Subscription(subscription(other, [1], 1))).await.unwrap();
    stores.records.put(Record::Staff(other, staff([StaffPermission::Founder]))).await.unwrap();
    let user = user_id(1);
    assert_eq!(read(stores, user, ListingScope::List).await.unwrap(), Listing::default());
    let seen = GuildWithRoles { guild: Arc::new(guild(guild_id(2))), roles: Arc::default() };
    // Without a list, no guild is read.
    for (list, guilds) in [(None, vec![]), (listing_guilds([2]).list, vec![seen])] {
        stores.grants.replace(user, &GrantContent { list, ..grant(1) }).await.unwrap();
        let grant = stores.grants.find(user).await.unwrap().map(GrantSummary::from);
        let expected = Listing { grant, guilds, ..Listing::default() };
        assert_eq!(read(stores, user, ListingScope::List).await.unwrap(), expected);
    }
}

async fn reads_a_long_list_completely_and_each_guild_once(fresh: &Fresh<Stores>) {
    let (user, listed) = (user_id(1), 1..=1200);
    // The platform repeats some of them.
    let list = listing_guilds(listed.clone().chain(1..=50));
    fresh.one.grants.replace(user, &list).await.unwrap();
    let present = || listed.clone().filter(|number| number % 2 == 0);
    let records = present().flat_map(|number| {
        let id = guild_id(number);
        let subscriber = user_id(5000 + number);
        [
            Record::Guild(guild(id)),
            Record::Member(member(id, user, &[number])),
            Record::Subscription(subscription(subscriber, [number, number + 5000], 0)),
        ]
    });
    let mut stream = Stream::in_batches(records, 500);
    fresh.one.records.sync(&Replace::default(), &mut stream).await.unwrap();
    fresh.settle().await;
    let Listing { grant, guilds, guild_subscriptions, .. } =
        read(&fresh.other, user, ListingScope::List).await.unwrap();
    assert_eq!(grant.map(|grant| grant.list), Some(list.list));
    let found: Vec<_> = guilds.iter().map(|seen| (seen.guild.id, (*seen.roles).clone())).collect();
    let expected: Vec<_> =
        present().map(|number| (guild_id(number), member(guild_id(number), user, &[number]).roles)).collect();
    assert_eq!(found, expected);
    let subscribers: Vec<_> = guild_subscriptions.iter().map(|subscription| subscription.user).collect();
    assert_eq!(subscribers, present().map(|number| user_id(5000 + number)).collect::<Vec<_>>());
}

async fn reads_one_guild_whether_listed_or_not(fresh: &Fresh<Stores>) {
    let (stores, user) = (&fresh.one, user_id(1));
    for number in 1..=3 {
        stores.records.put(Record::Guild(guild(guild_id(number)))).await.unwrap();
    }
    let sponsor = subscription(user_id(8), [2, 4], 0);
    stores.records.put(Record::Subscription(sponsor.clone())).await.unwrap();
    let seen =
        |number| vec![GuildWithRoles { guild: Arc::new(guild(guild_id(number))), roles: Arc::default() }];
    for signed_in in [false, true] {
        if signed_in {
            stores.grants.replace(user, &listing_guilds([1, 3])).await.unwrap();
        }
        let grant = stores.grants.find(user).await.unwrap().map(GrantSummary::from);
        let listing = |guilds, guild_subscriptions| Listing {
            grant: grant.clone(),
            guilds,
            guild_subscriptions,
            ..Listing::default()
        };
        let read = async |number| read(stores, user, ListingScope::Guild(guild_id(number))).await.unwrap();
        assert_eq!(read(1).await, listing(seen(1), vec![]));
        assert_eq!(read(2).await, listing(seen(2), vec![Arc::new(sponsor.clone())]));
        assert_eq!(read(4).await, listing(vec![], vec![Arc::new(sponsor.clone())]), "it has no bot");
    }
}

async fn returns_several_users_in_the_requested_order(fresh: &Fresh<Stores>) {
    let stores = &fresh.one;
    for number in 1..=130 {
        stores.records.put(Record::Guild(guild(guild_id(number)))).await.unwrap();
        stores.grants.replace(user_id(number), &listing_guilds([number])).await.unwrap();
    }
    // The last three are an unknown user, and one who is asked for twice.
    let asked: Vec<_> = (1..=130).rev().chain([999, 7, 7]).map(user_id).collect();
    let read_one_by_one = async {
        let mut listings = Vec::new();
        for user in &asked {
            listings.push(read(stores, *user, ListingScope::List).await.unwrap());
        }
        listings
    };
    let read_at_once = stores.listings().read_many(&asked).await.unwrap();
    let read_at_once: Vec<_> = read_at_once.into_iter().map(Arc::unwrap_or_clone).collect();
    assert_eq!(read_at_once, read_one_by_one.await);
    assert_eq!(stores.listings().read_many(&[]).await.unwrap(), []);
}

/// Returns the users whose subscriptions name one of these guilds, in order, as read by a user with all of them in the
/// list.
async fn guild_subscriptions(stores: &Stores, guilds: impl IntoIterator<Item = u64>) -> Vec<u64> {
    let reader = user_id(9999);
    stores.grants.replace(reader, &listing_guilds(guilds)).await.unwrap();
    let listing = read(stores, reader, ListingScope::List).await.unwrap();
    listing.guild_subscriptions.iter().map(|subscription| subscription.user.get()).collect()
}

async fn subscribe(stores: &Stores, subscriptions: impl IntoIterator<Item = (u64, Vec<u64>)>) {
    let put = subscriptions
        .into_iter()
        .map(|(user, guilds)| Mutation::Put(Record::Subscription(subscription(user_id(user), guilds, 9))));
    stores.records.apply(put.collect()).await.unwrap();
}

async fn finds_each_subscription_of_a_guild_once(fresh: &Fresh<Stores>) {
    subscribe(&fresh.one, [(1, vec![10, 11, 12]), (2, vec![11]), (3, vec![13]), (4, vec![])]).await;
    for (asked, expected) in [
        (vec![11], vec![1, 2]),
        (vec![10, 11, 12], vec![1, 2]),
        (vec![11, 11, 11], vec![1, 2]),
        (vec![13, 10], vec![1, 3]),
        (vec![99], vec![]),
        (vec![], vec![]),
    ] {
        assert_eq!(guild_subscriptions(&fresh.one, asked.clone()).await, expected, "naming {asked:?}");
    }
    let far = (1_u64 << 63..).take(3).chain([u64::MAX]);
    subscribe(&fresh.one, far.clone().map(|id| (id, vec![id]))).await;
    for id in far {
        assert_eq!(guild_subscriptions(&fresh.one, [id]).await, [id]);
    }
    subscribe(&fresh.one, [(1, vec![12, 14])]).await;
    for (guild, expected) in [(10, vec![]), (12, vec![1]), (14, vec![1])] {
        assert_eq!(guild_subscriptions(&fresh.one, [guild]).await, expected, "guild {guild}");
    }
    fresh.one.records.remove(Key::Subscription(user_id(1))).await.unwrap();
    assert_eq!(guild_subscriptions(&fresh.one, [12, 14]).await, [0; 0]);
    subscribe(&fresh.one, (1..=LOTS).map(|user| (user, vec![7, 1000 + user]))).await;
    assert!(guild_subscriptions(&fresh.one, [7, 1001]).await.into_iter().eq(1..=LOTS));
}

/// Returns one of two worlds that differ in every part of a listing.
fn world(second: bool, user: UserId) -> Vec<Record> {
    let number = if second { 2 } else { 1 };
    let named = |id: GuildId| Guild { name: name(&format!("World {number}")), ..guild(id) };
    let mut records = vec![
        Record::Guild(named(guild_id(1))),
        Record::Guild(named(guild_id(10 + number))),
        Record::Member(member(guild_id(1), user, &[number])),
        Record::Subscription(subscription(user, [number], number)),
        Record::Subscription(subscription(user_id(90 + number), [1], 0)),
        Record::Staff(
            user,
            staff([if second { StaffPermission::Support } else { StaffPermission::Founder }]),
        ),
    ];
    records.extend(second.then_some(Record::Blocked(user)));
    records
}

async fn writes_are_never_partially_visible(fresh: &Fresh<Stores>) {
    let user = user_id(1);
    fresh.one.grants.replace(user, &listing_guilds([1, 11, 12])).await.unwrap();
    let everything = Replace {
        kinds: [Kind::Guild, Kind::Member, Kind::Subscription, Kind::Staff, Kind::Blocked].into(),
        ..Replace::default()
    };
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
    stores.grants.replace(user, &listing_guilds([1, 2])).await.unwrap();
    expected.grant = stores.grants.find(user).await.unwrap().map(GrantSummary::from);
    check(&expected).await;
    stores.records.put(Record::Guild(guild(guild_id(1)))).await.unwrap();
    expected.guilds = vec![GuildWithRoles { guild: Arc::new(guild(guild_id(1))), roles: Arc::default() }];
    check(&expected).await;
    let roles = member(guild_id(1), user, &[5]);
    stores.records.put(Record::Member(roles.clone())).await.unwrap();
    expected.guilds =
        vec![GuildWithRoles { guild: Arc::new(guild(guild_id(1))), roles: Arc::new(roles.roles) }];
    check(&expected).await;
    let (own, theirs) = (subscription(user, [9], 1), subscription(user_id(8), [2], 0));
    stores.records.put(Record::Subscription(own.clone())).await.unwrap();
    expected.subscription = Some(Arc::new(own));
    check(&expected).await;
    stores.records.put(Record::Subscription(theirs.clone())).await.unwrap();
    expected.guild_subscriptions = vec![Arc::new(theirs)];
    check(&expected).await;
    expected.staff = staff([StaffPermission::Support]);
    stores.records.put(Record::Staff(user, expected.staff)).await.unwrap();
    check(&expected).await;
    stores.records.put(Record::Blocked(user)).await.unwrap();
    expected.blocked = true;
    check(&expected).await;
    stores.records.forget(user).await.unwrap();
    check(&Listing { blocked: true, ..Listing::default() }).await;
}

async fn leaves_out_unreadable_values(fresh: &Fresh<Stores>) {
    let (stores, user, other) = (&fresh.one, user_id(1), user_id(2));
    stores.grants.replace(user, &listing_guilds([1, 2, 3])).await.unwrap();
    let guilds = [1, 2, 3].map(|number| Record::Guild(guild(guild_id(number))));
    let roles = [2, 3].map(|number| Record::Member(member(guild_id(number), user, &[5])));
    let others = [
        Record::Subscription(subscription(user, [1], 1)),
        Record::Subscription(subscription(other, [2], 1)),
        Record::Subscription(subscription(user_id(3), [2], 1)),
        Record::Staff(user, staff([StaffPermission::Support])),
    ];
    let all = guilds.into_iter().chain(roles).chain(others).map(Mutation::Put);
    stores.records.apply(all.collect()).await.unwrap();
    for damage in [
        Damage::Guild(guild_id(1)),
        Damage::Member(guild_id(2), user),
        Damage::Subscription(user),
        Damage::Subscription(other),
        Damage::Staff(user),
    ] {
        if !fresh.damage(damage).await {
            return;
        }
    }
    let seen = |number, roles| {
        let roles = Arc::new(member(guild_id(number), user, roles).roles);
        GuildWithRoles { guild: Arc::new(guild(guild_id(number))), roles }
    };
    let guild_subscriptions = vec![Arc::new(subscription(user_id(3), [2], 1))];
    for (asked, guilds, guild_subscriptions) in [
        (ListingScope::List, vec![seen(2, &[][..]), seen(3, &[5])], guild_subscriptions.clone()),
        (ListingScope::Guild(guild_id(1)), vec![], vec![]),
        (ListingScope::Guild(guild_id(2)), vec![seen(2, &[])], guild_subscriptions),
    ] {
        let grant = stores.grants.find(user).await.unwrap().map(GrantSummary::from);
        let expected = Listing { grant, guilds, guild_subscriptions, ..Listing::default() };
        assert_eq!(read(stores, user, asked).await.unwrap(), expected, "{asked:?}");
    }
}

async fn an_unreadable_grant_is_corrupt_unless_blocked(fresh: &Fresh<Stores>) {
    let (stores, user) = (&fresh.one, user_id(1));
    stores.grants.replace(user, &listing_guilds([1])).await.unwrap();
    if !fresh.damage(Damage::Grant(user)).await {
        return;
    }
    let refused = read(stores, user, ListingScope::List).await;
    assert!(matches!(&refused, Err(error) if error.kind == StoreErrorKind::Corrupt), "{refused:?}");
    stores.records.put(Record::Blocked(user)).await.unwrap();
    let expected = Listing { blocked: true, ..Listing::default() };
    fresh
        .through_both(async |stores| {
            assert_eq!(read(stores, user, ListingScope::List).await.unwrap(), expected);
        })
        .await;
}
