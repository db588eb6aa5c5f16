//! The contract of a [`TeamRoster`](companion_domain::port::TeamRoster), and of replacing the team.

use super::{
    Damage, Fresh, Stores,
    concurrency::CancelledWrite,
    sample::{AWKWARD, BEYOND_SIGNED, awkward_names, name, team_member, user_id},
};
use companion_domain::{
    change::Tally,
    model::{Roster, TeamMember},
    port::Mutation,
};
use std::sync::Arc;

suite! {
    /// Generates one test per behaviour of a `TeamRoster`. It needs `Records` to write with.
    team_roster_conformance($): team_roster, Stores;
    a_new_store_has_no_team,
    a_member_is_returned_as_put,
    a_replacement_replaces_the_team,
    a_membership_is_identified_by_user_and_category,
    every_changed_membership_is_counted_once,
    a_replacement_returns_its_tally,
    order_does_not_matter,
    an_empty_roster_empties_the_team,
    ids_beyond_63_bits_are_separate,
    stores_a_large_team_completely,
    readers_see_only_acknowledged_teams,
    concurrent_replacements_leave_one_complete_team,
    text_is_stored_exactly,
    each_membership_keeps_its_user_as_put,
    a_cancelled_replacement_is_complete_or_absent,
    a_write_does_not_block_the_polling_thread needs Gating,
    an_unreadable_membership_affects_no_other needs Damaging,
}

fn roster(members: Vec<TeamMember>) -> Roster {
    Roster::new(members).unwrap()
}

fn sorted(mut members: Vec<TeamMember>) -> Vec<TeamMember> {
    members.sort_by(|one, two| one.key().cmp(&two.key()));
    members
}

async fn shown(stores: &Stores) -> Vec<TeamMember> {
    sorted(stores.team.all().await.unwrap().to_vec())
}

async fn replace(stores: &Stores, roster: &Roster) -> Tally {
    stores.records.write(Mutation::ReplaceTeam(roster.clone())).await.unwrap()
}

async fn a_new_store_has_no_team(fresh: &Fresh<Stores>) {
    assert_eq!(shown(&fresh.one).await, []);
    assert_eq!(replace(&fresh.one, &Roster::default()).await, Tally::NOTHING);
}

async fn a_member_is_returned_as_put(fresh: &Fresh<Stores>) {
    let plain = team_member(user_id(1), "Core", 0);
    let mut awkward = team_member(user_id(2), AWKWARD, i32::MIN);
    awkward.role = name(AWKWARD);
    awkward.color = "#aBcDeF".parse().unwrap();
    awkward.user.username = name(AWKWARD);
    awkward.user.name = name(&"🦀".repeat(256));
    awkward.user.avatar = "https://pictures.example/a.png?size=64&x=%20".parse().unwrap();
    let last = team_member(user_id(3), "Core", i32::MAX);
    let team = vec![plain, awkward, last];
    replace(&fresh.one, &roster(team.clone())).await;
    assert_eq!(shown(&fresh.one).await, sorted(team));
}

async fn a_replacement_replaces_the_team(fresh: &Fresh<Stores>) {
    let members = |users: [u64; 3]| users.map(|user| team_member(user_id(user), "Core", 1)).to_vec();
    replace(&fresh.one, &roster(members([1, 2, 3]))).await;
    replace(&fresh.one, &roster(members([3, 4, 5]))).await;
    assert_eq!(shown(&fresh.one).await, members([3, 4, 5]));
}

async fn a_membership_is_identified_by_user_and_category(fresh: &Fresh<Stores>) {
    let team = vec![
        team_member(user_id(1), "Core", 1),
        team_member(user_id(1), "core", 2),
        team_member(user_id(1), "Core ", 3),
        team_member(user_id(2), "Core", 1),
    ];
    let added = Tally { added: 4, ..Tally::NOTHING };
    assert_eq!(replace(&fresh.one, &roster(team.clone())).await, added);
    assert_eq!(shown(&fresh.one).await, sorted(team.clone()));
    let mut moved = team;
    if let Some(first) = moved.first_mut() {
        first.category = name("Support");
    }
    let tally = Tally { added: 1, changed: 0, removed: 1 };
    assert_eq!(replace(&fresh.one, &roster(moved)).await, tally, "another category is another place");
}

async fn every_changed_membership_is_counted_once(fresh: &Fresh<Stores>) {
    let mut member = team_member(user_id(1), "Core", 1);
    replace(&fresh.one, &roster(vec![member.clone()])).await;
    let changes: [fn(&mut TeamMember); 6] = [
        |member| member.role = name("Lead"),
        |member| member.color = "#1abc9c".parse().unwrap(),
        |member| member.position = -2,
        |member| member.user.username = name("renamed"),
        |member| member.user.name = name("Renamed"),
        |member| member.user.avatar = "https://pictures.example/new.png".parse().unwrap(),
    ];
    for (number, change) in changes.iter().enumerate() {
        change(&mut member);
        let team = roster(vec![member.clone()]);
        assert_eq!(replace(&fresh.one, &team).await, Tally::CHANGED, "change {number}");
        assert_eq!(replace(&fresh.one, &team).await, Tally::NOTHING, "change {number} again");
        assert_eq!(shown(&fresh.one).await, team.into_members());
    }
}

async fn a_replacement_returns_its_tally(fresh: &Fresh<Stores>) {
    let first = [1, 2, 3, 4].map(|user| team_member(user_id(user), "Core", 1));
    assert_eq!(replace(&fresh.one, &roster(first.to_vec())).await, Tally { added: 4, ..Tally::NOTHING });
    let second = vec![
        team_member(user_id(1), "Core", 1),
        team_member(user_id(2), "Core", 9),
        team_member(user_id(5), "Core", 1),
        team_member(user_id(6), "Core", 1),
        team_member(user_id(7), "Core", 1),
    ];
    let tally = replace(&fresh.one, &roster(second)).await;
    assert_eq!(tally, Tally { added: 3, changed: 1, removed: 2 });
}

async fn order_does_not_matter(fresh: &Fresh<Stores>) {
    let mut team: Vec<_> = (1..=9).map(|user| team_member(user_id(user), "Core", 1)).collect();
    replace(&fresh.one, &roster(team.clone())).await;
    team.reverse();
    assert_eq!(replace(&fresh.one, &roster(team.clone())).await, Tally::NOTHING);
    assert_eq!(shown(&fresh.one).await, sorted(team));
}

async fn an_empty_roster_empties_the_team(fresh: &Fresh<Stores>) {
    let team = roster(vec![team_member(user_id(1), "Core", 1), team_member(user_id(2), "Core", 1)]);
    replace(&fresh.one, &team).await;
    let removed = Tally { removed: 2, ..Tally::NOTHING };
    assert_eq!(replace(&fresh.one, &Roster::default()).await, removed);
    assert_eq!(replace(&fresh.one, &Roster::default()).await, Tally::NOTHING);
    fresh.settle().await;
    assert_eq!(shown(&fresh.other).await, []);
    assert_eq!(replace(&fresh.one, &team).await, Tally { added: 2, ..Tally::NOTHING });
}

async fn ids_beyond_63_bits_are_separate(fresh: &Fresh<Stores>) {
    let ids = [1, BEYOND_SIGNED - 1, BEYOND_SIGNED, BEYOND_SIGNED + 1, u64::MAX];
    let team = ids.map(|id| team_member(user_id(id), "Core", 1)).to_vec();
    replace(&fresh.one, &roster(team.clone())).await;
    assert_eq!(shown(&fresh.one).await, team);
    assert_eq!(replace(&fresh.one, &roster(team)).await, Tally::NOTHING);
}

async fn stores_a_large_team_completely(fresh: &Fresh<Stores>) {
    let team: Vec<_> = (1..=Roster::MAX as u64).map(|user| team_member(user_id(user), "Core", 1)).collect();
    let tally = replace(&fresh.one, &roster(team.clone())).await;
    assert_eq!(tally, Tally { added: Roster::MAX as u64, ..Tally::NOTHING });
    assert_eq!(shown(&fresh.one).await, team);
}

async fn readers_see_only_acknowledged_teams(fresh: &Fresh<Stores>) {
    for user in 1..=5 {
        let team = vec![team_member(user_id(user), "Core", 1)];
        replace(&fresh.one, &roster(team.clone())).await;
        assert_eq!(shown(&fresh.one).await, team);
        fresh.settle().await;
        assert_eq!(shown(&fresh.other).await, team);
    }
}

async fn concurrent_replacements_leave_one_complete_team(fresh: &Fresh<Stores>) {
    let team = |number: u64| -> Vec<_> {
        let position = i32::try_from(number).unwrap();
        (1..=20).map(|user| team_member(user_id(number % 4 * 100 + user), "Core", position)).collect()
    };
    let tallies = fresh
        .concurrently(move |number, store| async move { replace(&store, &roster(team(number))).await })
        .await;
    let stayed = shown(&fresh.one).await;
    assert!((0..32).any(|number| stayed == team(number)), "no caller wrote this team: {stayed:?}");
    let added: u64 = tallies.iter().map(|tally| tally.added).sum();
    let removed: u64 = tallies.iter().map(|tally| tally.removed).sum();
    assert_eq!(added - removed, 20, "what the answers say adds up to what is there");
}

async fn text_is_stored_exactly(fresh: &Fresh<Stores>) {
    let team = (1..).zip(awkward_names()).map(|(user, awkward)| {
        let mut member = team_member(user_id(user), "Core", 1);
        member.user.username = awkward.clone();
        member.user.name = awkward.clone();
        member.role = awkward.clone();
        member.category = awkward;
        member
    });
    // Categories of one user may differ in one character only.
    let places = awkward_names().into_iter().map(|awkward| {
        let mut member = team_member(user_id(100), "Core", 1);
        member.category = awkward;
        member
    });
    let team = sorted(team.chain(places).collect());
    let added = Tally { added: team.len() as u64, ..Tally::NOTHING };
    assert_eq!(replace(&fresh.one, &roster(team.clone())).await, added);
    assert_eq!(replace(&fresh.one, &roster(team.clone())).await, Tally::NOTHING);
    fresh.through_both(async |store| assert_eq!(shown(store).await, team)).await;
}

async fn each_membership_keeps_its_user_as_put(fresh: &Fresh<Stores>) {
    let named = |category, text| {
        let mut member = team_member(user_id(1), category, 1);
        member.user.name = name(text);
        member
    };
    let team = vec![named("Core", "Then"), named("Support", "Now")];
    replace(&fresh.one, &roster(team.clone())).await;
    fresh.through_both(async |store| assert_eq!(shown(store).await, team)).await;
}

async fn a_cancelled_replacement_is_complete_or_absent(fresh: &Fresh<Stores>) {
    let team = |users: [u64; 3], position| {
        roster(users.map(|user| team_member(user_id(user), "Core", position)).to_vec())
    };
    let cancelled = CancelledWrite {
        fresh,
        what: "a replacement",
        ready: async |store: &Arc<Stores>, _| replace(store, &team([1, 2, 3], 1)).await,
        write: async |store: &Arc<Stores>, _| replace(store, &team([3, 4, 5], 2)).await,
        look: async |store: &Arc<Stores>, _| shown(store).await,
        // There is only one team, so no unrelated write exists: replacing it with itself serializes after the others.
        further: async |store: &Arc<Stores>| {
            let same = Roster::new(shown(store).await).unwrap();
            replace(store, &same).await;
        },
    };
    cancelled.leaves_all_or_nothing().await;
}

async fn a_write_does_not_block_the_polling_thread(fresh: &Fresh<Stores>) {
    fresh
        .waits_elsewhere(async |store| {
            replace(store, &roster(vec![team_member(user_id(1), "Core", 1)])).await
        })
        .await;
}

async fn an_unreadable_membership_affects_no_other(fresh: &Fresh<Stores>) {
    let team: Vec<_> = [1, 2, 3].map(|user| team_member(user_id(user), "Core", 1)).to_vec();
    replace(&fresh.one, &roster(team.clone())).await;
    if fresh.damage(Damage::TeamMember(user_id(2))).await {
        let left: Vec<_> = team.iter().filter(|member| member.user.id != user_id(2)).cloned().collect();
        fresh.through_both(async |store| assert_eq!(shown(store).await, left)).await;
        replace(&fresh.one, &roster(team.clone())).await;
        fresh.through_both(async |store| assert_eq!(shown(store).await, team)).await;
    }
}
