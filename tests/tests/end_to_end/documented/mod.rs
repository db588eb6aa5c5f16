//! The code of the documentation, compiled and run.

mod choosing_a_port;
mod swapping_a_part;

use self::choosing_a_port::serve_the_team_from;
use crate::{served::Client, third_party_roster::write_by_hand};
use companion::configuration::{Layers, load_for_serving};

/// A section of the adapter guide: one port of the program is replaced.
#[tokio::test]
async fn the_program_shows_the_team_file_and_its_changes() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("team.json");
    let layers = Layers::none()
        .with("COMPANION_STORAGE__URL", "memory:")
        .with("COMPANION_HTTP__LISTEN", "127.0.0.1:0")
        .with("COMPANION_MANAGEMENT__LISTEN", "127.0.0.1:0");
    let configuration = load_for_serving(&layers).unwrap().configuration;
    let service = serve_the_team_from(file.clone(), &configuration).await.unwrap();
    let mut client = Client::connect(service.public_address()).await;
    for role in ["Founder", "Helper"] {
        write_by_hand(&file, role);
        assert_eq!(client.send("GET", "/team", &[]).await.data()[0]["role"], role, "at once");
    }
    drop(client);
    service.stop().await.unwrap();
}
