//! All checks, in the order in which parts need each other.

use super::{
    bot, certificate, check::Check, clock, configuration as configured, credentials, database, files,
    installation::Installation, listeners, preflight, provider, proxies, question::Asker, redirects,
    report::Report, schema, write,
};
use crate::configuration::{self, Layers, Mistakes};

/// Looks at the installation that these layers describe. It fails only where nothing at all can be told.
pub async fn examine(layers: &Layers) -> Result<Report, Mistakes> {
    let (loaded, mistakes) = configuration::examine(layers)?;
    let installation =
        Installation { configuration: loaded.configuration, effective: loaded.effective, mistakes };
    let mut checks = configured::check(&installation, &loaded.unread, &loaded.warnings);
    checks.extend(files::check(&installation));
    let (database, written, asked) =
        tokio::join!(database::look(&installation), write::beside(&installation), ask(&installation));
    let written = written.unwrap_or_else(|| write::on_server(database.inspection.as_ref()));
    let bot = bot::check(&installation, &database);
    checks.push(database.check.clone());
    checks.push(written);
    checks.push(schema::check(&database));
    checks.extend(files::fit(&installation, &database));
    checks.extend(asked);
    checks.push(proxies::check(&installation));
    checks.push(bot);
    Ok(Report { checks })
}

/// What others have to be asked about: the platform, and the service that runs.
async fn ask(installation: &Installation) -> Vec<Check> {
    let asker = match Asker::new() {
        Ok(asker) => asker,
        Err(why) => return vec![provider::without_client(&why)],
    };
    let platform = async {
        let provider = provider::ask(installation, &asker).await;
        let credentials = credentials::check(installation, &provider, &asker).await;
        let clock = clock::check(&provider);
        vec![provider.check, clock, credentials]
    };
    let certificate = certificate::read(installation);
    let pinned = certificate.as_ref().and_then(|own| Asker::of_ourselves(own.shown.clone()?).ok());
    let service = async {
        let asker = pinned.as_ref().unwrap_or(&asker);
        let listeners = listeners::ask(installation, asker).await;
        let preflights = preflight::check(installation, listeners.public.as_deref(), asker).await;
        (listeners.checks, preflights)
    };
    let (mut checks, (listeners, preflights)) = tokio::join!(platform, service);
    checks.extend(redirects::check(installation));
    checks.extend(certificate.map(|own| own.check));
    checks.extend(listeners);
    checks.extend(preflights);
    checks
}
