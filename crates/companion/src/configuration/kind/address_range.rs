//! Ranges of network addresses.

use crate::configuration::{
    raw::Raw,
    refusal::Refusal,
    setting::{Setting, quoted, text_like},
};
use ipnet::IpNet;
use serde_json::Value;
use std::{fmt, net::IpAddr, str::FromStr};

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
