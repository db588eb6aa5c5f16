//! Ranges of network addresses.

use crate::configuration::{
    raw::Raw,
    setting::{Refusal, Setting, quoted},
};
use std::{fmt, net::IpAddr, str::FromStr};

/// An address, or all addresses that begin with the same bits: `10.0.0.0/8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressRange {
    first: IpAddr,
    bits: u8,
}

impl AddressRange {
    /// Whether the address is in the range.
    #[must_use]
    pub fn has(&self, address: IpAddr) -> bool {
        let (first, width) = as_number(self.first);
        let (address, other_width) = as_number(address);
        // Shifting by the whole width would overflow; a range of no bits has every address anyway.
        let rest = u32::from(width - self.bits);
        width == other_width && (first ^ address).checked_shr(rest).unwrap_or(0) == 0
    }
}

fn as_number(address: IpAddr) -> (u128, u8) {
    match address {
        IpAddr::V4(address) => (u128::from(address.to_bits()), 32),
        IpAddr::V6(address) => (address.to_bits(), 128),
    }
}

impl FromStr for AddressRange {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Refusal> {
        let refusal = || Refusal::must_be("an address or a range, like 10.0.0.1 or 10.0.0.0/8");
        let (address, bits) =
            text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let first: IpAddr = address.parse().map_err(|_| refusal())?;
        let (number, width) = as_number(first);
        let bits = bits.map_or(Ok(width), |bits| bits.parse().map_err(|_| refusal()))?;
        if bits > width {
            return Err(refusal());
        }
        let rest = u32::from(width - bits);
        let below = number & 1_u128.checked_shl(rest).map_or(u128::MAX, |bit| bit - 1);
        if below != 0 {
            return Err(Refusal::new("has bits set behind its prefix; the range would begin elsewhere"));
        }
        Ok(Self { first, bits })
    }
}

impl fmt::Display for AddressRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.bits)
    }
}

impl Setting for AddressRange {
    fn read(raw: &Raw) -> Result<Self, Refusal> {
        raw.text()?.parse()
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
