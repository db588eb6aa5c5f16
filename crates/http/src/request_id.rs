//! The name of a request, by which callers and logs speak of the same thing.

use crate::headers::{Only, X_REQUEST_ID, only};
use actix_web::http::header::{HeaderMap, HeaderValue};
use companion_domain::port::Entropy;
use std::fmt::Write as _;

/// The longest name that a caller may give.
const LONGEST: usize = 64;

/// The name of one request.
#[derive(Debug, Clone)]
pub(crate) struct RequestId(HeaderValue);

impl RequestId {
    /// The name that the caller gave, where it is fit to be repeated, or a new one.
    pub(crate) fn of(headers: &HeaderMap, entropy: &dyn Entropy) -> Self {
        match only(headers, &X_REQUEST_ID) {
            Only::Once(value) if is_fit(value.as_bytes()) => Self(value.clone()),
            Only::Once(_) | Only::Absent | Only::Repeated => Self::new(entropy),
        }
    }

    fn new(entropy: &dyn Entropy) -> Self {
        let mut random = [0; 16];
        entropy.fill(&mut random);
        let mut text = String::with_capacity(2 * random.len());
        for byte in random {
            let _ = write!(text, "{byte:02x}");
        }
        Self(HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static("unnamed")))
    }

    /// The name as text.
    pub(crate) fn as_str(&self) -> &str {
        self.0.to_str().unwrap_or_default()
    }

    /// The name as a header.
    pub(crate) fn to_header(&self) -> HeaderValue {
        self.0.clone()
    }
}

fn is_fit(name: &[u8]) -> bool {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    (1..=LONGEST).contains(&name.len()) && name.iter().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Sevens;

    impl Entropy for Sevens {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(7);
        }
    }

    fn id(sent: &[&[u8]]) -> String {
        let mut headers = HeaderMap::new();
        for value in sent {
            headers.append(X_REQUEST_ID, HeaderValue::from_bytes(value).unwrap());
        }
        RequestId::of(&headers, &Sevens).as_str().to_owned()
    }

    #[test]
    fn a_plain_name_is_kept_and_anything_else_is_replaced() {
        let made = "07".repeat(16);
        assert_eq!(id(&[b"A-z_0.9"]), "A-z_0.9");
        assert_eq!(id(&[&[b'x'; 64]]), "x".repeat(64));
        for bad in [&[b'x'; 65][..], b"", b"a b", b"a\"b", b"\xff", b"a/b"] {
            assert_eq!(id(&[bad]), made);
        }
        assert_eq!(id(&[]), made);
        assert_eq!(id(&[b"one", b"two"]), made);
    }
}
