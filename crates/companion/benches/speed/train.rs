//! The training load of profile-guided optimization: reads, changes, syncs and sign-ins.

use crate::{
    feed::Feed,
    load::Load,
    platform,
    sections::endpoints::{ENDPOINTS, Loads},
    service::{GUILDS, Installation},
    world::World,
};

/// Requests of each load. A number, not a time, so that every training gives nearly the same profile.
const REQUESTS: usize = 50_000;
/// Changes per second: more than a busy bot makes, since there are few beside the reads.
const RATE: u32 = 2000;
/// Changes per request: a single one, and as the kits send them.
const BATCHES: [u64; 2] = [1, 1000];
const SIGN_INS: u64 = 2000;

/// Loads the service and bare servers with the same bytes. An instrumented process writes its profile when it exits.
pub(crate) fn run() -> anyhow::Result<()> {
    let installation = Installation::new(&World::USUAL)?;
    let platform = platform::start(installation.folder())?;
    let installation = installation.with_platform(platform.address);
    let service = installation.serve()?;
    installation.wait_for_feedback()?;
    for path in ENDPOINTS {
        installation.report()?;
        let loads = Loads::of(&installation, &service, path)?;
        for load in [&loads.bare, &loads.service] {
            Load { requests: Some(REQUESTS), ..load.clone() }.measure()?;
        }
    }
    for batch in BATCHES {
        let feed = Feed::start(&installation, World::USUAL.guilds, RATE, batch)?;
        Load { requests: Some(REQUESTS), ..installation.load(&service, GUILDS) }.measure()?;
        feed.stop()?;
    }
    installation.sign_ins(&service, 0, SIGN_INS)?.measure().map(drop)
}
