//! Checks whether the redirect URIs fit the allowed origins.

use super::check::{Check, Installation, Subject};
use crate::configuration::{Dashboard, RedirectUri, is_loopback};
use companion_http::Origin;
use url::Url;

const REDIRECTS: Subject = Subject::new("redirect uris", "identity.redirect_uri");
const DASHBOARD: Subject = Subject::new("redirect uris", "dashboard.url");

pub(super) fn check(installation: &Installation) -> Vec<Check> {
    if let Err(skipped) = installation.needs(REDIRECTS, &["identity.redirect_uri", "http.allowed_origins"]) {
        return vec![skipped];
    }
    let configuration = &installation.configuration;
    let Dashboard { listen, url, .. } = &configuration.dashboard;
    let dashboard = listen.as_ref().and(url.as_ref()).map(|url| {
        let callback = url.callback();
        DASHBOARD.ok(format!(
            "the dashboard's is {callback}; it must be registered at the platform, to the letter"
        ))
    });
    let mut checks = Vec::from_iter(dashboard);
    let origins = &configuration.http.allowed_origins;
    match &configuration.identity.redirect_uri {
        Some(redirect) => checks.extend(public(redirect, origins)),
        None => checks.push(REDIRECTS.skipped("none is set, so the public API offers no sign-in")),
    }
    checks
}

fn public(redirect: &RedirectUri, origins: &[Origin]) -> Vec<Check> {
    let RedirectUri { default, by_origin } = redirect;
    let mut checks = Vec::new();
    // Over a connection without TLS a code can be intercepted.
    let all = std::iter::once(default).chain(by_origin.iter().map(|(_, url)| url));
    let is_unsafe = |url: &Url| url.scheme() == "http" && !url.host_str().is_some_and(is_loopback);
    if let Some(url) = all.into_iter().find(|url| Url::parse(url.as_str()).is_ok_and(|url| is_unsafe(&url))) {
        checks.push(REDIRECTS.warning(
            format!("codes come back to {url} without encryption"),
            "use https, here and at the platform",
        ));
    }
    let refused = by_origin.iter().filter(|(origin, _)| !origins.contains(origin));
    checks.extend(refused.map(|(origin, _)| {
        REDIRECTS.failed(
            format!("{origin} is in the table, but its sign-ins are refused (403 origin_refused)"),
            format!("add \"{origin}\" to http.allowed_origins"),
        )
    }));
    let is_known = |origin: &Origin| by_origin.iter().any(|(known, _)| known == origin);
    let missing = origins.iter().filter(|origin| !by_origin.is_empty() && !is_known(origin));
    checks.extend(missing.map(|origin| {
        REDIRECTS.failed(
            format!("{origin} is in http.allowed_origins, but not in the table, so its sign-ins are refused"),
            format!("add an entry for \"{origin}\" to the table"),
        )
    }));
    // A single one may belong to an origin that is not allowed only if a backend posts the codes.
    let page = Url::parse(default.as_str()).map(|url| url.origin().ascii_serialization());
    let page = page.ok().filter(|_| by_origin.is_empty() && !origins.is_empty());
    if let Some(page) = page.filter(|page| !origins.iter().any(|known| known.as_str() == page)) {
        checks.push(REDIRECTS.warning(
            format!("users come back to {page}, which is not in http.allowed_origins"),
            format!(
                "let it be the address that the sign-in page itself names to the platform; if that is this one, add \"{page}\" \
                 to http.allowed_origins, unless only a backend posts the codes"
            ),
        ));
    }
    if checks.is_empty() {
        checks.push(
            REDIRECTS
                .ok("they fit http.allowed_origins; each must be registered at the platform, to the letter"),
        );
    }
    checks
}
