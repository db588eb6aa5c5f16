//! Nothing that grows is forgotten: each part adds what it takes, and no more.

use crate::{
    copy::{GuildCopy, ListingCopy, SessionCopy},
    weight::{self, ENTRY},
};
use companion_domain::{
    model::{Guild, GuildList, GuildSeen, Membership, RoleBindings, Subscription},
    port::{GrantSummary, GrantVersion, Listing},
    session::{Session, TokenHash},
};
use companion_testkit::world::{a_guild, a_session, a_subscription, an_ownership, at, guild_id, name, roles};
use std::{mem::size_of, sync::Arc};

/// What an id takes.
const ID: usize = size_of::<u64>();

fn a_small_guild() -> Guild {
    Guild { name: name("ab"), icon: None, bindings: RoleBindings::default(), ..a_guild(1) }
}

#[test]
fn of_a_guild() {
    let small = weight::guild(&a_small_guild());
    assert_eq!(small, size_of::<Guild>() + 2);
    let icon = "https://cdn.example/1.png";
    let with_icon = Guild { icon: Some(icon.parse().unwrap()), ..a_small_guild() };
    assert_eq!(weight::guild(&with_icon), small + icon.len());
    let bindings = RoleBindings::new([
        ("MOD".parse().unwrap(), roles(&[1, 2])),
        ("ADMIN".parse().unwrap(), roles(&[3])),
    ]);
    assert_eq!(weight::guild(&Guild { bindings, ..a_small_guild() }), small + 2 * 48 + 3 * ID);
    let with_both = Guild { name: name("abcd"), ..with_icon };
    assert_eq!(weight::guild(&with_both), small + icon.len() + 2);
}

#[test]
fn of_a_subscription() {
    assert_eq!(weight::subscription(&a_subscription(1, &[1, 2, 3])), size_of::<Subscription>() + 3 * ID);
}

#[test]
fn of_a_listing() {
    let seen =
        |guild, role: &[u64]| GuildSeen { guild: Arc::new(a_guild(guild)), roles: Arc::new(roles(role)) };
    let empty = weight::listing(&Listing::default());
    assert_eq!(empty, size_of::<Listing>());
    let list = GuildList { memberships: [1, 2, 3].map(an_ownership).to_vec().into(), fetched_at: at(1) };
    let grant = GrantSummary { version: GrantVersion(1), renewable: false, list: Some(list) };
    let whole = Listing {
        grant: Some(grant),
        guilds: vec![seen(1, &[1, 2]), seen(2, &[3])],
        naming: vec![Arc::new(a_subscription(2, &[1]))],
        subscription: Some(Arc::new(a_subscription(1, &[1]))),
        ..Listing::default()
    };
    let parts = 3 * size_of::<Membership>()
        + 2 * size_of::<GuildSeen>()
        + 3 * ID
        + size_of::<Arc<Subscription>>()
        + size_of::<Subscription>()
        + ID;
    assert_eq!(weight::listing(&whole), empty + parts);
}

#[test]
fn of_copies() {
    let session = a_session(1, 1, at(1));
    let unnamed = Session { user_agent: None, ..session };
    let small = SessionCopy::of(&unnamed).weight();
    assert_eq!(small, size_of::<SessionCopy>() + size_of::<TokenHash>() + ENTRY);
    let named = Session { user_agent: "curl/8".parse().ok(), ..session };
    assert!(named.user_agent.is_some());
    assert_eq!(SessionCopy::of(&named).weight(), small + 6 + 2 * size_of::<usize>());

    let without_bot = GuildCopy::new(guild_id(1), None, Box::default());
    assert_eq!(without_bot.weight(), size_of::<GuildCopy>() + ENTRY);
    let subscription = Arc::new(a_subscription(1, &[1]));
    let naming = vec![subscription.clone(), subscription.clone()].into();
    let with_bot = GuildCopy::new(guild_id(1), Some(Arc::new(a_small_guild())), naming);
    let parts = weight::guild(&a_small_guild()) + 2 * weight::subscription(&subscription);
    assert_eq!(with_bot.weight(), without_bot.weight() + parts);

    let empty = ListingCopy::new(Arc::default(), Box::default(), 0).weight();
    assert_eq!(empty, size_of::<ListingCopy>() + ENTRY + size_of::<Listing>());
    let leaning_on = |guild: &Arc<GuildCopy>| {
        ListingCopy::new(Arc::default(), [Arc::clone(guild)].into(), 0).weight() - empty - size_of::<usize>()
    };
    let (guild, whole) = (Arc::new(with_bot), without_bot.weight() + parts);
    assert_eq!(leaning_on(&guild), whole / 2, "two have it now");
    let others = [(); 9].map(|()| Arc::clone(&guild));
    assert_eq!(leaning_on(&guild), whole / 4, "however many have it");
    drop(others);
}
