//! A third-party adapter: the team in a JSON file. `docs/adapters.md` explains it.

mod json_roster;

pub(crate) use self::json_roster::JsonRoster;

use companion_domain::port::{StoreErrorKind, TeamRoster as _};
use std::{fs, path::Path};

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
async fn a_malformed_file_is_corrupt_and_an_unreadable_one_unavailable() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("team.json");
    let kind = async |file: &Path| JsonRoster::at(file.to_owned()).all().await.unwrap_err().kind;
    for text in ["", "{}", r#"[{"discord_id": "0"}]"#] {
        fs::write(&file, text).unwrap();
        assert_eq!(kind(&file).await, StoreErrorKind::Corrupt, "{text}");
    }
    assert_eq!(kind(folder.path()).await, StoreErrorKind::Unavailable);
}
