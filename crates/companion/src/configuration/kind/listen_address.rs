//! Listen addresses, and ranges of client addresses.

use crate::configuration::{
    mistake::Refusal,
    raw::Raw,
    setting::{Setting, quoted, text_like},
};
use ipnet::IpNet;
use serde_json::Value;
use std::{
    fmt, io,
    net::{IpAddr, SocketAddr, TcpListener},
    str::FromStr,
};

/// A host and a port: `127.0.0.1:8080`, `[::1]:8080`, `localhost:0`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListenAddress {
    /// The host as it was given; IPv6 in brackets.
    pub host: String,
    /// The port; 0 takes a free one.
    pub port: u16,
}

impl ListenAddress {
    /// Whether only this machine can reach it.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        let address = self.host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        self.host == "localhost" || address.is_ok_and(|address| address.is_loopback())
    }

    /// Where a service of this machine is asked: one that listens on every address, on the loopback one.
    #[must_use]
    pub fn reachable(&self) -> Self {
        let host = match self.host.as_str() {
            "0.0.0.0" => "127.0.0.1",
            "[::]" => "[::1]",
            host => host,
        };
        Self { host: host.to_owned(), port: self.port }
    }

    /// Begins to listen.
    pub fn bind(&self) -> io::Result<TcpListener> {
        TcpListener::bind(self.to_string())
    }
}

impl FromStr for ListenAddress {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Refusal> {
        let refusal =
            || Refusal::must_be("a host and a port, like 127.0.0.1:8080, [::1]:8080 or localhost:8080");
        let (host, port) = text.rsplit_once(':').ok_or_else(refusal)?;
        let name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
        let named = !host.is_empty() && host.chars().all(name);
        let digits = !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
        let port = port.parse().ok().filter(|_| digits && (named || text.parse::<SocketAddr>().is_ok()));
        port.map(|port| Self { host: host.to_owned(), port }).ok_or_else(refusal)
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl Setting for ListenAddress {
    fn read(raw: &Raw) -> Result<Self, Refusal> {
        raw.text()?.parse()
    }

    fn schema() -> Value {
        text_like("^.+:[0-9]+$")
    }

    fn show(&self) -> String {
        quoted(self)
    }
}

/// An address, or all addresses that begin with the same bits: `10.0.0.0/8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressRange(IpNet);

impl AddressRange {
    /// Whether the address is in the range.
    #[must_use]
    pub fn has(&self, address: IpAddr) -> bool {
        self.0.contains(&address)
    }
}

impl FromStr for AddressRange {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Refusal> {
        let range = text.parse().or_else(|_| text.parse().map(|address: IpAddr| address.into()));
        let range: IpNet =
            range.map_err(|_| Refusal::must_be("an address or a range, like 10.0.0.1 or 10.0.0.0/8"))?;
        if range != range.trunc() {
            return Err(Refusal::new("has bits set behind its prefix; the range would begin elsewhere"));
        }
        Ok(Self(range))
    }
}

impl fmt::Display for AddressRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Setting for AddressRange {
    fn read(raw: &Raw) -> Result<Self, Refusal> {
        raw.text()?.parse()
    }

    fn schema() -> Value {
        text_like("^[0-9A-Fa-f:.]+(/[0-9]+)?$")
    }

    fn show(&self) -> String {
        quoted(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_and_a_port_are_accepted() {
        for text in ["127.0.0.1:8080", "[::1]:8080", "localhost:0", "0.0.0.0:65535", "my-host.example:80"] {
            assert_eq!(text.parse::<ListenAddress>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in
            ["", "8080", ":8080", "localhost", "127.0.0.1:", "127.0.0.1:65536", "::1:8080", "a b:1", "h:+1"]
        {
            assert!(text.parse::<ListenAddress>().is_err(), "{text}");
        }
    }

    fn range(text: &str) -> AddressRange {
        text.parse().unwrap()
    }

    #[test]
    fn a_range_has_the_addresses_that_share_its_prefix() {
        for (text, inside, outside) in [
            ("10.0.0.0/8", "10.255.1.2", "11.0.0.0"),
            ("192.168.1.7", "192.168.1.7", "192.168.1.8"),
            ("fd00::/8", "fd12::1", "fc00::1"),
            ("::1", "::1", "::2"),
            ("0.0.0.0/0", "203.0.113.9", "::1"),
        ] {
            assert!(range(text).has(inside.parse().unwrap()), "{text} {inside}");
            assert!(!range(text).has(outside.parse().unwrap()), "{text} {outside}");
        }
        assert!(range("::/0").has("2001:db8::1".parse().unwrap()));
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for text in ["", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/x", "proxy.example", "::1/129", "10.0.0.1/8"] {
            assert!(text.parse::<AddressRange>().is_err(), "{text}");
        }
    }
}
