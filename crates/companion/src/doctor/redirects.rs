//! Whether the addresses that users come back to fit the pages that sign them in.

use super::check::{Check, Installation, Subject};
use crate::configuration::{Configuration, Dashboard, RedirectUri};
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
        None => checks.push(REDIRECTS.skipped("none is set, so the public API signs nobody in")),
    }
    checks
}

/// The address that the dashboard names to the platform.
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

/// A code that comes back in the clear can be taken by anyone on the way.
fn unencrypted(redirect: &RedirectUri) -> Option<Check> {
    let all = std::iter::once(&redirect.default).chain(redirect.by_origin.iter().map(|(_, url)| url));
    let unsafe_one = all.map(|url| url.as_str()).find(|url| {
        let url = Url::parse(url).ok();
        url.is_some_and(|url| url.scheme() == "http" && !is_loopback(&url))
    })?;
    Some(REDIRECTS.warning(
        format!("codes come back to {unsafe_one} without encryption"),
        "use https, here and at the platform",
    ))
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Pages that have an address to come back to, and may not ask.
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

/// Pages that may ask, and have no address to come back to.
fn without_address(redirect: &RedirectUri, origins: &[Origin]) -> Vec<Check> {
    let without =
        origins.iter().filter(|origin| !redirect.by_origin.iter().any(|(known, _)| known == *origin));
    without
        .map(|origin| {
            REDIRECTS.failed(
                format!("{origin} is in http.allowed_origins, but not in the table, so it signs nobody in"),
                format!("add an entry for \"{origin}\" to the table"),
            )
        })
        .collect()
}

/// One address for all, on a page that may not ask itself. That is right only where its backend does.
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
