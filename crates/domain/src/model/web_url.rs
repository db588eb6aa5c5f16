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
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    is_web && is_plain(authority) && url::Url::parse(text).is_ok()
}

/// Returns whether this is a host with an optional port, unambiguous to every parser: no user info, no empty port, no
/// characters that a host cannot have.
fn is_plain(authority: &str) -> bool {
    // The parser checks what is between the brackets of an IPv6 address.
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

    #[test]
    fn keeps_urls_verbatim() {
        let urls = "https://cdn.example/a.png http://127.0.0.1:8080 HTTPS://Cdn.Example/%20?a=b#c https://[::1]/ \
            https://[::1]:8443?a https://xn--bcher-kva.example:65535#a http://my_host-1";
        for text in urls.split_whitespace() {
            assert_eq!(text.parse::<WebUrl>().unwrap().as_str(), text);
        }
    }

    #[test]
    fn rejects_urls_that_need_repair() {
        let long = format!("https://cdn.example/{}", "a".repeat(2048));
        let urls = "cdn.example/a.png /a.png //cdn.example/a.png ftp://cdn.example/a javascript:alert(1) \
            javascript://cdn.example/%0aalert(1) data:image/png;base64,AA== https:// https:///a.png https:cdn.example \
            https://cdn.example/ä https://cdn.example:99999/ https://cdn.example:/ https://cdn.example:0/ \
            https://cdn.example:+1/ https://user@cdn.example/ https://user:password@cdn.example/ \
            https://cdn.example*/ https://cdn.example\\a/ https://cdn..example/ https://1.2.3/ https://0x7f.1/ \
            https://[::1/";
        let others = ["", "https://cdn.example/a b", "https://cdn.example/\n", &long];
        for text in urls.split_whitespace().chain(others) {
            assert_eq!(text.parse::<WebUrl>().unwrap_err().field, "URL", "{text:?}");
        }
        assert!(long[..2048].parse::<WebUrl>().is_ok());
    }
}
