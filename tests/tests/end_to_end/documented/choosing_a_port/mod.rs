//! The last section of the guide to adapters: a single port is exchanged in the program.

use crate::{client::Client, third_party_roster::JsonRoster};
use companion::{
    Service,
    composition::{Adapters, Composition, Keys, Storage},
    configuration::{Configuration, Layers, load_for_serving},
    service::Listeners,
    system::SystemEntropy,
};
use companion_domain::{model::Roster, port::TeamRoster as _};
use companion_testkit::world::a_team_member;
use std::{error::Error, path::PathBuf, sync::Arc};

async fn serve_the_team_from(
    file: PathBuf,
    configuration: &Configuration,
) -> Result<Service, Box<dyn Error>> {
    let storage = Storage::open(&configuration.storage.url).await?;
    let mut adapters = Adapters::choose(configuration, &storage)?;
    adapters.stores.team = Arc::new(JsonRoster::at(file));
    let keys = Keys::resolve(configuration, &SystemEntropy)?;
    let composition = Composition::new(configuration, &adapters, &keys);
    Ok(Service::start(configuration, composition, Listeners::bind(configuration)?).await?)
}

#[tokio::test]
async fn the_program_shows_the_team_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("team.json");
    let team = Roster::new(vec![a_team_member(1, "Core", 1)]).unwrap();
    JsonRoster::at(file.clone()).replace(&team).await.unwrap();
    let layers = Layers::none()
        .with("COMPANION_STORAGE__URL", "memory:")
        .with("COMPANION_HTTP__LISTEN", "127.0.0.1:0")
        .with("COMPANION_MANAGEMENT__LISTEN", "127.0.0.1:0");
    let configuration = load_for_serving(&layers).unwrap().configuration;
    let service = serve_the_team_from(file, &configuration).await.unwrap();
    let mut client = Client::connect(service.public_address()).await;
    let shown = client.send("GET", "/team", &[]).await.data();
    assert_eq!(shown[0]["category"], "Core", "{shown}");
    service.stop().await.unwrap();
}
