//! Checks whether the redirect URIs fit the allowed origins.

use super::check::{Check, Installation, Subject};
use crate::configuration::{Configuration, Dashboard, RedirectUri, is_loopback};
use companion_http::Origin;
use url::Url;

const REDIRECTS: Subject = Subject::new("redirect uris", "identity.redirect_uri");
const DASHBOARD: Subject = Subject::new("redirect uris", "dashboard.url");

pub(super) fn check(installation: &Installation) -> Vec<Check> {
    if let Err(skipped) = installation.needs(REDIRECTS, &["identity.redirect_uri", "http.allowed_origins"]) {
        return vec![skipped];
    }
    let configuration = &installation.configuration;
    let mut checks: Vec<_> = dashboard(configuration).into_iter().collect();
    let origins = &configuration.http.allowed_origins;
    match &configuration.identity.redirect_uri {
        Some(redirect) => checks.extend(public(redirect, origins)),
        None => checks.push(REDIRECTS.skipped("none is set, so the public API offers no sign-in")),
    }
    checks
}

/// Returns the dashboard's redirect URI as a check, if the dashboard is on.
fn dashboard(configuration: &Configuration) -> Option<Check> {
    let Dashboard { listen, url, .. } = &configuration.dashboard;
    listen.as_ref()?;
    let callback = url.as_ref()?.callback();
    Some(
        DASHBOARD.ok(format!(
            "the dashboard's is {callback}; it must be registered at the platform, to the letter"
        )),
    )
}

fn public(redirect: &RedirectUri, origins: &[Origin]) -> Vec<Check> {
    let mut checks = Vec::new();
    checks.extend(unencrypted(redirect));
    checks.extend(refused_origins(redirect, origins));
    if redirect.by_origin.is_empty() {
        checks.extend(another_page(redirect, origins));
    } else {
        checks.extend(without_address(redirect, origins));
    }
    if checks.is_empty() {
        checks.push(
            REDIRECTS
                .ok("they fit http.allowed_origins; each must be registered at the platform, to the letter"),
        );
    }
    checks
}

/// Warns of a redirect URI without TLS, over which a code can be intercepted.
fn unencrypted(redirect: &RedirectUri) -> Option<Check> {
    let all = std::iter::once(&redirect.default).chain(redirect.by_origin.iter().map(|(_, url)| url));
    let unsafe_one = all.map(|url| url.as_str()).find(|url| {
        let url = Url::parse(url).ok();
        url.is_some_and(|url| url.scheme() == "http" && !url.host_str().is_some_and(is_loopback))
    })?;
    Some(REDIRECTS.warning(
        format!("codes come back to {unsafe_one} without encryption"),
        "use https, here and at the platform",
    ))
}

/// Returns a failure for each origin that has a redirect URI but is not allowed.
fn refused_origins(redirect: &RedirectUri, origins: &[Origin]) -> Vec<Check> {
    let refused = redirect.by_origin.iter().filter(|(origin, _)| !origins.contains(origin));
    refused
        .map(|(origin, _)| {
            REDIRECTS.failed(
                format!("{origin} is in the table, but its sign-ins are refused (403 origin_refused)"),
                format!("add \"{origin}\" to http.allowed_origins"),
            )
        })
        .collect()
}

/// Returns a failure for each allowed origin that has no redirect URI.
fn without_address(redirect: &RedirectUri, origins: &[Origin]) -> Vec<Check> {
    let without =
        origins.iter().filter(|origin| !redirect.by_origin.iter().any(|(known, _)| known == *origin));
    without
        .map(|origin| {
            REDIRECTS.failed(
                format!(
                    "{origin} is in http.allowed_origins, but not in the table, so its sign-ins are refused"
                ),
                format!("add an entry for \"{origin}\" to the table"),
            )
        })
        .collect()
}

/// Warns if the only redirect URI belongs to an origin that is not allowed. That is right only if a backend posts the
/// codes.
fn another_page(redirect: &RedirectUri, origins: &[Origin]) -> Option<Check> {
    let origin = Url::parse(redirect.default.as_str()).ok()?.origin().ascii_serialization();
    if origins.is_empty() || origins.iter().any(|known| known.as_str() == origin) {
        return None;
    }
    Some(REDIRECTS.warning(
        format!("users come back to {origin}, which is not in http.allowed_origins"),
        format!(
            "let it be the address that the sign-in page itself names to the platform; if that is this one, add \"{origin}\" to \
             http.allowed_origins, unless only a backend posts the codes"
        ),
    ))
}
