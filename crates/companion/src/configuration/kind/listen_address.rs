//! Where to listen.

use crate::configuration::{
    raw::Raw,
    refusal::Refusal,
    setting::{Setting, quoted, text_like},
};
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
}
