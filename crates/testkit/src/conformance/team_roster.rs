//! The contract of a [`TeamRoster`](companion_domain::port::TeamRoster), and of replacing the team. Its texts are compared by
//! the export of the records suite.

use super::{
    Fresh, Stores,
    sample::{BEYOND_SIGNED, name, team_member, user_id},
};
use companion_domain::{
    change::Tally,
    model::{Roster, TeamMember},
    port::Mutation,
};

suite! {
    /// Generates one test per behaviour of a `TeamRoster`. It needs `Records` to write with.
    team_roster_conformance($): team_roster, Stores;
    each_replacement_is_shown_and_returns_its_tally,
    concurrent_replacements_leave_one_complete_team,
}

fn sorted(mut members: Vec<TeamMember>) -> Vec<TeamMember> {
    members.sort_by(|one, two| one.key().cmp(&two.key()));
    members
}

async fn shown(stores: &Stores) -> Vec<TeamMember> {
    sorted(stores.team.all().await.unwrap().to_vec())
}

async fn replace(stores: &Stores, team: &[TeamMember]) -> Tally {
    let roster = Roster::new(team.to_vec()).unwrap();
    stores.records.write(Mutation::ReplaceTeam(roster)).await.unwrap()
}

fn place(user: u64, category: &str, position: i32) -> TeamMember {
    team_member(user_id(user), category, position)
}

async fn each_replacement_is_shown_and_returns_its_tally(fresh: &Fresh<Stores>) {
    let mut changed = place(1, "Core", 1);
    let changes: [fn(&mut TeamMember); 6] = [
        |member| member.role = name("Lead"),
        |member| member.color = "#1abc9c".parse().unwrap(),
        |member| member.position = -2,
        |member| member.user.username = name("renamed"),
        |member| member.user.name = name("Renamed"),
        |member| member.user.avatar = "https://pictures.example/new.png?size=64&x=%20".parse().unwrap(),
    ];
    let changes = changes.map(|change| {
        change(&mut changed);
        (vec![changed.clone()], (0, 1, 0))
    });
    let core = |users: &[u64]| users.iter().map(|user| place(*user, "Core", 1)).collect::<Vec<_>>();
    let most = Roster::MAX as u64;
    let full: Vec<_> = (1..=most).collect();
    let rows = [
        (core(&[1]), (1, 0, 0)),
        (core(&[2, 1]), (1, 0, 0)),
        // User and category identify a place.
        ([core(&[1, 2]), vec![place(1, "core", 2), place(1, "Core ", 3)]].concat(), (2, 0, 0)),
        (vec![place(1, "Support", 2), place(2, "Core", 9), place(3, "Core", i32::MIN)], (2, 1, 3)),
        (core(&[1, BEYOND_SIGNED - 1, BEYOND_SIGNED, BEYOND_SIGNED + 1, u64::MAX]), (5, 0, 3)),
        (vec![], (0, 0, 5)),
        (core(&full), (most, 0, 0)),
        (core(&[1]), (0, 0, most - 1)),
    ];
    assert_eq!(shown(&fresh.one).await, []);
    for (mut team, (added, changed, removed)) in rows.into_iter().chain(changes) {
        let tally = replace(&fresh.one, &team).await;
        assert_eq!(tally, Tally { added, changed, removed }, "{team:?}");
        team.reverse();
        assert_eq!(replace(&fresh.one, &team).await, Tally::NOTHING, "in another order");
        assert_eq!(fresh.shows(async |stores| shown(stores).await).await, sorted(team));
    }
}

async fn concurrent_replacements_leave_one_complete_team(fresh: &Fresh<Stores>) {
    let team = |number: u64| -> Vec<_> {
        let position = i32::try_from(number).unwrap();
        (1..=20).map(|user| team_member(user_id(number % 4 * 100 + user), "Core", position)).collect()
    };
    let tallies =
        fresh.concurrently(move |number, store| async move { replace(&store, &team(number)).await }).await;
    let stayed = shown(&fresh.one).await;
    assert!((0..32).any(|number| stayed == team(number)), "no caller wrote this team: {stayed:?}");
    let added: u64 = tallies.iter().map(|tally| tally.added).sum();
    let removed: u64 = tallies.iter().map(|tally| tally.removed).sum();
    assert_eq!(added - removed, 20, "what the answers say adds up to what is there");
}
