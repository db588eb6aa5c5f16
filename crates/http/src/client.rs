//! Identifies the client of a request by its connection and trusted proxies.

use actix_web::{HttpRequest, http::header::X_FORWARDED_FOR};
use std::{
    fmt,
    net::{IpAddr, Ipv6Addr},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// The addresses of trusted reverse proxies, whose `X-Forwarded-For` is believed. One per listener; clones share the
/// warning.
#[derive(Clone)]
pub struct TrustedProxies {
    is_proxy: Arc<dyn Fn(IpAddr) -> bool + Send + Sync>,
    /// Whether the operator was already warned about an untrusted `X-Forwarded-For`.
    warned: Arc<AtomicBool>,
}

impl TrustedProxies {
    /// Trusts the addresses for which `is_proxy` returns `true`.
    pub fn new(is_proxy: impl Fn(IpAddr) -> bool + Send + Sync + 'static) -> Self {
        Self { is_proxy: Arc::new(is_proxy), warned: Arc::default() }
    }

    pub(crate) fn trusts(&self, address: IpAddr) -> bool {
        (self.is_proxy)(address)
    }

    /// Warns once that a proxy may be missing in the configuration. The header's value is not logged, because any
    /// client can set it.
    fn warn_of(&self, peer: IpAddr) {
        if !self.warned.load(Ordering::Relaxed) && !self.warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                peer = %peer,
                "X-Forwarded-For is ignored, because it came from an address that is not trusted; all its clients \
                 share one rate limit. If it is your proxy or backend, add it to http.trusted_proxies"
            );
        }
    }
}

impl fmt::Debug for TrustedProxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TrustedProxies")
    }
}

/// A client, as limits count it: an IPv4 address or an IPv6 /64 network, which is what one household has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Client(IpAddr);

impl Client {
    /// Returns the client of a request, or `None` if the connection has no peer address, as in some tests.
    #[must_use]
    pub fn of(request: &HttpRequest, proxies: &TrustedProxies) -> Option<Self> {
        let peer = request.peer_addr()?.ip().to_canonical();
        if request.headers().contains_key(&X_FORWARDED_FOR) && !proxies.trusts(peer) {
            proxies.warn_of(peer);
        }
        let forwarded = request.headers().get_all(&X_FORWARDED_FOR).filter_map(|value| value.to_str().ok());
        let hops: Vec<_> = forwarded.flat_map(|value| value.split(',')).map(str::trim).collect();
        Some(Self::behind(peer, &hops, proxies))
    }

    /// Returns the client of a request whose application data holds its [`TrustedProxies`], as every
    /// [`Shell`](crate::Shell) provides.
    #[must_use]
    pub fn behind_request(request: &HttpRequest) -> Option<Self> {
        Self::of(request, request.app_data::<TrustedProxies>()?)
    }

    /// Walks back from the peer over trusted proxies to the first untrusted address. Entries before that one can be
    /// forged.
    fn behind(peer: IpAddr, hops: &[&str], proxies: &TrustedProxies) -> Self {
        let mut nearest = peer;
        for hop in hops.iter().rev() {
            if !proxies.trusts(nearest) {
                break;
            }
            let Ok(address) = hop.parse::<IpAddr>() else { break };
            nearest = address.to_canonical();
        }
        Self::at(nearest)
    }

    /// Returns the client at this address.
    pub(crate) fn at(address: IpAddr) -> Self {
        let address = address.to_canonical();
        match address {
            IpAddr::V4(_) => Self(address),
            IpAddr::V6(address) => {
                let network = address.to_bits() & !u128::from(u64::MAX);
                Self(Ipv6Addr::from_bits(network).into())
            }
        }
    }
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let IpAddr::V4(address) = self.0 else { return fmt::Display::fmt(&self.0, f) };
        // Each change of the bot is logged with its client. The library's formatter took 1,100 instructions of it.
        let mut text = String::with_capacity(16);
        for octet in address.octets() {
            text.push_str(itoa::Buffer::new().format(octet));
            text.push('.');
        }
        f.write_str(text.trim_end_matches('.'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(peer: &str, hops: &[&str]) -> String {
        let proxies = TrustedProxies::new(|address| address.to_string().starts_with("10."));
        Client::behind(peer.parse().unwrap(), hops, &proxies).0.to_string()
    }

    #[test]
    fn trusts_forwarded_addresses_of_trusted_proxies_only() {
        assert_eq!(client("203.0.113.9", &["198.51.100.1"]), "203.0.113.9");
        assert_eq!(client("10.0.0.1", &[]), "10.0.0.1");
        assert_eq!(client("10.0.0.1", &["198.51.100.1"]), "198.51.100.1");
        assert_eq!(client("10.0.0.1", &["1.2.3.4", "198.51.100.1", "10.0.0.2"]), "198.51.100.1");
        assert_eq!(client("10.0.0.1", &["198.51.100.1", "nonsense"]), "10.0.0.1");
    }

    #[test]
    fn displays_every_octet_in_decimal() {
        for text in ["0.0.0.0", "1.10.100.255", "203.0.113.9", "99.9.199.109", "2001:db8:1:2::"] {
            assert_eq!(Client::at(text.parse().unwrap()).to_string(), text);
        }
    }

    #[test]
    fn counts_an_ipv6_network_as_one_client() {
        assert_eq!(client("2001:db8:1:2:3:4:5:6", &[]), "2001:db8:1:2::");
        assert_eq!(client("10.0.0.1", &["2001:db8:1:2::ffff"]), "2001:db8:1:2::");
        assert_ne!(client("2001:db8:1:3::1", &[]), client("2001:db8:1:2::1", &[]));
        assert_eq!(client("10.0.0.1", &["::ffff:198.51.100.1"]), "198.51.100.1");
    }
}
