//! What copies are kept, and what takes them out of use.

use crate::{
    copies::{Copies, Shares},
    key::Key,
};
use companion_domain::{
    model::GuildList,
    port::{GrantSummary, GrantVersion, Listing},
    session::{Session, TokenHash},
};
use companion_testkit::world::{a_session, a_subscription, an_ownership, at, guild_id, user_id};
use std::sync::Arc;

fn copies() -> Copies {
    Copies::new(Shares::of(1 << 20))
}

fn keep(copies: &Copies, session: &Session, position: u64) {
    copies.keep_session(&session.id, Some(session), position);
}

fn a_listing(guild: u64) -> Arc<Listing> {
    let list = GuildList { memberships: vec![an_ownership(guild)].into(), fetched_at: at(1) };
    let grant = GrantSummary { version: GrantVersion(1), renewable: false, list: Some(list) };
    Arc::new(Listing { grant: Some(grant), ..Listing::default() })
}

#[test]
fn all_kinds_of_copies_share_all_the_memory() {
    for memory in [0, 1, 1023, 64 << 20, u64::MAX] {
        let Shares { sessions, absent, listings } = Shares::of(memory);
        assert_eq!(u128::from(sessions) + u128::from(absent) + u128::from(listings), memory.into());
    }
}

#[test]
fn a_session_that_was_told_of_while_it_was_loaded_is_not_kept() {
    let (copies, told, other) = (copies(), a_session(1, 1, at(1)), a_session(2, 1, at(1)));
    let position = copies.position();
    copies.tell([Key::Session(told.id)]);
    for session in [&told, &other] {
        keep(&copies, session, position);
    }
    assert_eq!((copies.session(&told.id), copies.session(&other.id)), (None, Some(other)));
}

#[test]
fn word_of_every_session_leaves_no_copy_and_overtakes_every_load() {
    let (copies, kept, loaded) = (copies(), a_session(1, 1, at(1)), a_session(2, 1, at(1)));
    let position = copies.position();
    keep(&copies, &kept, position);
    copies.tell_every_session();
    keep(&copies, &loaded, position);
    assert_eq!((copies.session(&kept.id), copies.session(&loaded.id)), (None, None));
    keep(&copies, &loaded, copies.position());
    assert_eq!(copies.session(&loaded.id), Some(loaded));
}

#[test]
fn that_a_session_is_absent_is_kept_until_it_changes() {
    let (copies, ids) = (copies(), [1, 2, 3].map(|number| a_session(number, 1, at(1)).id));
    let [changed, other, overtaken] = &ids;
    let position = copies.position();
    copies.tell([Key::Session(*overtaken)]);
    ids.iter().for_each(|id| copies.keep_session(id, None, position));
    let absent = || ids.map(|id| copies.is_absent(&id));
    assert_eq!(absent(), [true, true, false]);
    copies.tell([Key::Session(*changed), Key::User(user_id(1))]);
    assert_eq!(absent(), [false, true, false]);
    copies.tell_every_session();
    assert_eq!(absent(), [false, false, false], "{other:?}");
}

#[test]
fn the_use_of_a_session_only_moves_forward_and_makes_no_copy() {
    let (copies, session) = (copies(), a_session(1, 1, at(5)));
    copies.use_session(&session.id, at(9));
    assert_eq!(copies.session(&session.id), None);
    keep(&copies, &session, copies.position());
    for (seen, shown) in [(9, 9), (7, 9), (11, 11)] {
        copies.use_session(&session.id, at(seen));
        assert_eq!(copies.session(&session.id).unwrap().last_seen_at, at(shown));
    }
}

#[test]
fn listings_that_are_dropped_make_room_for_no_others() {
    let copies = copies();
    for user in [1, 2] {
        copies.keep_listing(user_id(user), a_listing(1), copies.position());
    }
    let dropped = copies.all_listings();
    assert_eq!(dropped.len(), 2);
    // One of them has changed since.
    copies.keep_listing(user_id(2), a_listing(2), copies.position());
    copies.drop_listings(dropped);
    assert_eq!((copies.listing(user_id(1)), copies.listing(user_id(2))), (None, Some(a_listing(2))));
}

#[test]
fn a_listing_that_was_told_of_while_it_was_loaded_is_not_kept() {
    // The user's only guild is named by someone else's subscription.
    let listing = Listing { naming: vec![Arc::new(a_subscription(2, &[1]))], ..(*a_listing(1)).clone() };
    let is_kept_after = |key: Key| {
        let copies = copies();
        let position = copies.position();
        copies.tell([key]);
        copies.keep_unless_overtaken(user_id(1), &listing, position).is_some()
    };
    for of_it in [
        Key::User(user_id(1)),
        Key::Guild(guild_id(1)),
        Key::Subscriber(user_id(1)),
        Key::Subscriber(user_id(2)),
    ] {
        assert!(!is_kept_after(of_it), "{of_it:?}");
    }
    for of_others in [
        Key::User(user_id(2)),
        Key::Guild(guild_id(2)),
        Key::Subscriber(user_id(3)),
        Key::Session(TokenHash::from_bytes([1; 32])),
    ] {
        assert!(is_kept_after(of_others), "{of_others:?}");
    }
}

#[test]
fn copies_weigh_what_they_take_and_those_that_have_to_go_count_no_more() {
    const MEMORY: u64 = 64 << 10;
    let copies = Copies::new(Shares::of(MEMORY));
    let (mut early, mut absent) = (Vec::new(), Vec::new());
    for number in 1..=2000_u64 {
        let mut id = [0; 32];
        id[..8].copy_from_slice(&number.to_le_bytes());
        let session = Session { id: TokenHash::from_bytes(id), ..a_session(1, 1, at(1)) };
        keep(&copies, &session, copies.position());
        let id = TokenHash::from_bytes(id.map(|byte| !byte));
        copies.keep_session(&id, None, copies.position());
        absent.push(id);
        copies.keep_listing(user_id(number), a_listing(number), copies.position());
        if number == 200 {
            early = copies.all_listings();
        }
    }
    let [sessions, listings, _] = copies.statistics();
    let shares = Shares::of(MEMORY);
    assert!(sessions.bytes <= shares.sessions && sessions.entries < 1000, "{sessions:?}");
    assert!(listings.bytes <= shares.listings && listings.entries < 1000, "{listings:?}");
    let absent = absent.iter().filter(|id| copies.is_absent(id)).count() as u64;
    assert!(absent > 0 && absent * size_of::<TokenHash>() as u64 <= shares.absent, "{absent}");
    let gone = early.iter().filter(|(user, _)| copies.listing(*user).is_none());
    assert!(gone.clone().count() > 0 && gone.clone().all(|(_, copy)| !copy.is_current()));
}

#[test]
fn listings_share_subscriptions_and_say_the_same_as_before() {
    let copies = copies();
    let named_twice = || {
        let naming = [2, 3].map(|user| Arc::new(a_subscription(user, &[1]))).to_vec();
        Listing { naming, ..(*a_listing(1)).clone() }
    };
    let [one, other] =
        [1, 2].map(|user| copies.keep_listing(user_id(user), Arc::new(named_twice()), copies.position()));
    assert_eq!((&*one, &*other), (&named_twice(), &named_twice()));
    assert!(one.naming.iter().zip(&other.naming).all(|(one, other)| Arc::ptr_eq(one, other)));
}
