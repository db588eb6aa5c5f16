//! `companion demo`.

use super::{Failure, print, running::Running};
use crate::{
    build_information::VERSION,
    composition::{Adapters, Composition, Keys, Storage},
    configuration::{self, Configuration, Layers, ListenAddress, LogFormat},
    demo::{DemoIdentity, Person, SeedError, SimulatedBot, categories, people, seed},
    logging,
    system::{SystemClock, SystemEntropy},
};
use companion_domain::{model::PictureServer, port::Clock as _};
use companion_storage_memory::MemoryStorage;
use std::{fmt::Write as _, net::SocketAddr, sync::Arc};

pub(super) fn run(given: &Configuration) -> Result<(), Failure> {
    let configuration = configuration_of(given)?;
    logging::start(&configuration.log);
    let pictures = PictureServer::new(configuration.identity.cdn_url.clone());
    let people = people(&pictures).map_err(SeedError::from)?;
    let (clock, entropy) = (Arc::new(SystemClock), Arc::new(SystemEntropy));
    let identity = Arc::new(DemoIdentity::new(&people, clock.clone(), entropy.clone()));
    let storage = Storage::Memory(Arc::new(MemoryStorage::new()));
    let adapters = Adapters {
        storage: storage.ports(),
        identity: identity.clone(),
        clock: clock.clone(),
        entropy: entropy.clone(),
    };
    let keys = Keys::for_one_run(&*entropy);
    let composition = Composition::new(&configuration, &adapters, &keys);
    let feed = composition.use_cases.feed.clone();
    let bot = SimulatedBot::new(feed.clone(), clock.clone(), entropy).map_err(SeedError::from)?;
    let running = Running::start(&configuration, async || {
        seed(&feed, &people, clock.now(), &pictures).await?;
        bot.report().await?;
        Ok((composition, storage))
    })?;
    running.spawn(bot.keep_reporting());
    let service = running.service();
    print(&welcome(service.public_address(), service.management_address(), &people, &identity.codes()))?;
    running.until_signal()
}

/// The defaults, but for the ports and the log level that someone may have configured; on loopback only.
fn configuration_of(given: &Configuration) -> Result<Configuration, Failure> {
    let mut configuration = configuration::load(&Layers::none())?.configuration;
    let on_loopback = |port| ListenAddress { host: "127.0.0.1".to_owned(), port };
    configuration.http.listen = on_loopback(given.http.listen.port);
    configuration.management.listen = on_loopback(given.management.listen.port);
    configuration.log.clone_from(&given.log);
    configuration.log.format.get_or_insert(LogFormat::Human);
    configuration.team.categories = categories().map_err(SeedError::from)?;
    Ok(configuration)
}

impl From<SeedError> for Failure {
    fn from(error: SeedError) -> Self {
        Self::Failed(error.to_string())
    }
}

fn welcome(public: SocketAddr, management: SocketAddr, people: &[Person], codes: &[String]) -> String {
    let code = codes.first().map(String::as_str).unwrap_or_default();
    let mut text = format!(
        "Companion {VERSION}, with a sample world in memory\n\
         Public API:     http://{public}\n\
         Management API: http://{management}\n\
         \n\
         Try:\n\
         \x20 curl -s http://{public}/\n\
         \x20 curl -s -X POST -H 'Idp-Code: {code}' http://{public}/auth\n\
         \x20 curl -s -H 'Token: THE-TOKEN-FROM-ABOVE' http://{public}/guilds\n\
         \n\
         Each of these codes signs someone in, once; the log then tells the next one:\n"
    );
    let width = codes.iter().map(String::len).max().unwrap_or(0);
    for (person, code) in people.iter().zip(codes) {
        let _ = writeln!(text, "  {code:width$}  {} {}", person.user.name, person.about);
    }
    text + "\nStop with Ctrl-C.\n"
}
