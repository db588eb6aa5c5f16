//! The program, with the team in a file.

use crate::third_party_roster::JsonRoster;
use companion::{
    Service,
    composition::{Adapters, Composition, Keys, Storage},
    configuration::Configuration,
    service::Listeners,
    system::SystemEntropy,
};
use std::{error::Error, path::PathBuf, sync::Arc};

pub(super) async fn serve_the_team_from(
    file: PathBuf,
    configuration: &Configuration,
) -> Result<Service, Box<dyn Error>> {
    let storage = Storage::open(&configuration.storage.url).await?;
    let mut adapters = Adapters::choose(configuration, &storage)?;
    adapters.stores = adapters.stores.with_team(Arc::new(JsonRoster::at(file)));
    let keys = Keys::resolve(configuration, &SystemEntropy)?;
    let composition = Composition::new(configuration, &adapters, &keys);
    Ok(Service::start(configuration, composition, Listeners::bind(configuration)?).await?)
}
