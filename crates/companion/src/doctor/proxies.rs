//! Whether the service can know where its visitors come from.

use super::{
    check::{Check, Subject},
    installation::Installation,
};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const PROXIES: Subject = Subject::new("trusted proxies", "http.trusted_proxies");
/// An address of nobody we know.
const STRANGERS: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::new(203, 0, 113, 7)), IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 7))];

pub(super) fn check(installation: &Installation) -> Check {
    if let Err(skipped) = installation.needs(PROXIES, &["http.trusted_proxies", "http.listen"]) {
        return skipped;
    }
    let http = &installation.configuration.http;
    let trusted = |address: IpAddr| http.trusted_proxies.iter().any(|range| range.has(address));
    if STRANGERS.into_iter().any(trusted) {
        return PROXIES.failed(
            "everyone is trusted, so anyone can name any address as theirs, and no limit holds",
            "list the addresses of your own proxies only",
        );
    }
    let loopback = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
    if http.listen.is_loopback() && !loopback.into_iter().any(trusted) {
        return PROXIES.warning(
            format!(
                "{} is reached from this machine only, so visitors come through a proxy that is not trusted: \
                     to the limits all of them are one",
                http.listen
            ),
            "set http.trusted_proxies = [\"127.0.0.1\"], and let the proxy append to X-Forwarded-For",
        );
    }
    match http.trusted_proxies.len() {
        0 => PROXIES.ok("none, so visitors are known by the address of their connection"),
        1 => PROXIES.ok("1 range is trusted"),
        count => PROXIES.ok(format!("{count} ranges are trusted")),
    }
}
