//! A third-party adapter: the team in a JSON file. `docs/adapters.md` explains it.

mod json_roster;

pub(crate) use self::json_roster::JsonRoster;

use companion_domain::{
    change::Kind,
    model::Roster,
    port::{ApplyError, Mutation, StoreErrorKind, TeamRoster as _},
};
use companion_testkit::use_cases::{InMemory, UseCases, settings};
use std::{fs, path::Path, sync::Arc};

/// Writes a file with one user who has this role.
#[expect(clippy::unwrap_used, reason = "the test needs its file")]
pub(crate) fn write_by_hand(file: &Path, role: &str) {
    let text = format!(
        r##"[{{"discord_id": "42", "username": "zoe", "name": "Zoë", "avatar": "https://cdn.example/z.png",
        "role": "{role}", "color": "#FFaa00", "category": "Core", "position": -1}}]"##
    );
    fs::write(file, text).unwrap();
}

#[tokio::test]
async fn shows_the_team_of_the_file_and_refuses_to_feed_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("team.json");
    let roster = Arc::new(JsonRoster::at(file.clone()));
    let mut ports = InMemory::new().ports;
    ports.stores = ports.stores.with_team(roster);
    let use_cases = UseCases::new(&ports, settings());
    assert_eq!(use_cases.show_team.show().await.unwrap().len(), 0, "there is no file yet");
    for role in ["Founder", "Helper"] {
        write_by_hand(&file, role);
        let shown = use_cases.show_team.show().await.unwrap();
        let known: Vec<_> =
            shown.iter().map(|one| (one.user.id.get(), one.role.as_str(), one.position)).collect();
        assert_eq!(known, [(42, role, -1)]);
    }
    let team = Mutation::ReplaceTeam(Roster::new(vec![]).unwrap());
    let refused = use_cases.feed.records.write(team).await.unwrap_err();
    assert!(matches!(refused, ApplyError::KeptElsewhere(Kind::Team)), "{refused}");
    assert_eq!(use_cases.show_team.show().await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_malformed_file_is_a_corrupt_store() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("team.json");
    for text in ["", "{}", r#"[{"discord_id": "0"}]"#] {
        fs::write(&file, text).unwrap();
        let error = JsonRoster::at(file.clone()).all().await.unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Corrupt, "{text}");
    }
}

#[tokio::test]
async fn an_unreadable_file_is_an_unavailable_store() {
    let folder = tempfile::tempdir().unwrap();
    let error = JsonRoster::at(folder.path().to_owned()).all().await.unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Unavailable);
}
