//! An adapter as someone else would write it: the team in a JSON file. `docs/adapters.md` walks through it.

mod entry;
mod json_roster;

pub(crate) use self::json_roster::JsonRoster;

use companion_domain::{
    model::{Roster, TeamMember},
    port::{StoreErrorKind, TeamRoster},
};
use companion_testkit::{
    conformance::Fresh,
    use_cases::{InMemory, Settings, UseCases, settings},
    world::{a_team_member, name},
};
use std::{path::Path, sync::Arc};

companion_testkit::team_roster_conformance! {
    in_a_temporary_folder()
}

/// Two handles that share nothing but the file, as two processes would.
#[expect(clippy::unwrap_used, reason = "without a folder there is nothing to test")]
fn in_a_temporary_folder() -> Fresh<dyn TeamRoster> {
    let folder = tempfile::tempdir().unwrap();
    let (one, other) = (roster_in(folder.path()), roster_in(folder.path()));
    Fresh::<dyn TeamRoster>::new(one).with_other(other).keeping(folder)
}

fn roster_in(folder: &Path) -> Arc<JsonRoster> {
    Arc::new(JsonRoster::at(folder.join("team.json")))
}

fn team() -> Vec<TeamMember> {
    vec![a_team_member(1, "Support", 1), a_team_member(2, "Core", 2), a_team_member(3, "Core", 1)]
}

#[tokio::test]
async fn the_team_is_fed_and_shown_over_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut ports = InMemory::new().ports;
    ports.stores.team = roster_in(folder.path());
    let use_cases = UseCases::new(&ports, Settings { categories: vec![name("Core")], ..settings() });
    let tally = use_cases.feed.replace_team(&Roster::new(team()).unwrap()).await.unwrap();
    assert_eq!(tally.added, 3);
    let shown = use_cases.show_team.show().await.unwrap();
    let ids: Vec<_> = shown.iter().map(|member| member.user.id.get()).collect();
    assert_eq!(ids, [3, 2, 1], "in the order of the categories, then of the positions");
}

#[tokio::test]
async fn a_file_that_was_written_by_hand_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let text = r##"[{"discord_id": "42", "username": "zoe", "name": "Zoë", "avatar": "https://cdn.example/z.png",
        "role": "Founder", "color": "#FFaa00", "category": "Core", "position": -1}]"##;
    std::fs::write(folder.path().join("team.json"), text).unwrap();
    let team = roster_in(folder.path()).all().await.unwrap();
    let known: Vec<_> = team.iter().map(|one| (one.user.id.get(), one.role.as_str(), one.position)).collect();
    assert_eq!(known, [(42, "Founder", -1)]);
}

#[tokio::test]
async fn a_file_that_makes_no_sense_is_corrupt_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    for text in ["", "{}", r#"[{"discord_id": "0"}]"#] {
        std::fs::write(folder.path().join("team.json"), text).unwrap();
        let error = roster_in(folder.path()).all().await.unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Corrupt, "{text}");
    }
}

#[tokio::test]
async fn a_folder_that_cannot_be_written_to_is_unavailable() {
    let folder = tempfile::tempdir().unwrap();
    let nowhere = roster_in(&folder.path().join("missing"));
    let refused = nowhere.replace(&Roster::new(team()).unwrap()).await.unwrap_err();
    assert_eq!(refused.kind, StoreErrorKind::Unavailable);
}
