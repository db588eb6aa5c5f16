//! URLs that a browser can load.

use crate::named::checked_text;
use std::net::Ipv4Addr;

checked_text!(
    /// An absolute `http` or `https` URL with a host, exactly as it was given.
    WebUrl,
    "URL",
    "an absolute http or https URL of at most 2048 characters",
    is_web_url
);

impl WebUrl {
    /// Maximum length of a URL, in bytes.
    pub const MAX_LENGTH: usize = 2048;
}

/// Returns whether a browser can load the URL as it is. The parser repairs what it can; a URL that is echoed to browsers
/// must not have needed repair.
fn is_web_url(text: &str) -> bool {
    let is_plain_text = text.len() <= WebUrl::MAX_LENGTH && text.bytes().all(|b| b.is_ascii_graphic());
    let Some((scheme, rest)) = text.split_once("://").filter(|_| is_plain_text) else { return false };
    let is_web = scheme.eq_ignore_ascii_case("https") || scheme.eq_ignore_ascii_case("http");
    let end = rest.bytes().position(|byte| matches!(byte, b'/' | b'?' | b'#')).unwrap_or(rest.len());
    let authority = rest.get(..end).unwrap_or_default();
    // The parser checks what `is_plain` leaves to it: IPv6 addresses and Punycode.
    let is_parsed = || url::Url::parse(text).is_ok();
    is_web && is_plain(authority) && (!authority.contains(['[', '-']) || is_parsed())
}

/// Returns whether this is a host with an optional port, unambiguous to every parser: no user info, no empty port, no
/// characters that a host cannot have.
fn is_plain(authority: &str) -> bool {
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (authority, None),
    };
    let is_port = |port: &str| !port.starts_with(['0', '+']) && port.parse::<u16>().is_ok();
    let is_host = host.starts_with('[') || is_name(host) || host.parse::<Ipv4Addr>().is_ok();
    is_host && port.is_none_or(is_port)
}

/// Returns whether this is a host name rather than a numeric address.
fn is_name(host: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty() && label.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
    };
    let last = host.rsplit('.').next().unwrap_or_default();
    last.starts_with(|first: char| first.is_ascii_alphabetic()) && host.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Which URLs are accepted is asserted together with the pattern in their schema, by the crate of the records.
    #[test]
    fn keeps_urls_of_up_to_2048_bytes_verbatim() {
        let long = format!("HTTPS://Cdn.Example/%20?a=b#{}", "a".repeat(2048));
        assert_eq!(long[..2048].parse::<WebUrl>().unwrap().as_str(), &long[..2048]);
        // Not Punycode, which the pattern of the schema does not tell.
        for text in [&long[..2049], "https://cdn.example/\n", "https://xn--a.example/"] {
            assert_eq!(text.parse::<WebUrl>().unwrap_err().field, "URL", "{text:?}");
        }
    }
}
