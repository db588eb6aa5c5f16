//! Request ids, and the time at which a request arrived.

use crate::headers::{Only, X_REQUEST_ID, only};
use actix_web::{
    HttpMessage as _, HttpRequest,
    http::header::{HeaderMap, HeaderValue},
};
use companion_domain::port::{Clock, Entropy};
use std::time::Duration;

/// Maximum length of an id, which callers may choose.
const MAX_LENGTH: usize = 64;
/// Random bytes of a generated id, two hexadecimal digits each.
const RANDOM_BYTES: usize = 16;
const DIGITS: [u8; 16] = *b"0123456789abcdef";

/// The id of a request. It is stored inline: every request has one, and only the response header needs an allocation.
#[derive(Clone, Copy)]
pub(crate) struct RequestId {
    text: [u8; MAX_LENGTH],
    length: usize,
}

impl RequestId {
    /// Returns the id that the caller sent if it is well-formed, otherwise a new one.
    pub(crate) fn of(headers: &HeaderMap, entropy: &dyn Entropy) -> Self {
        match only(headers, &X_REQUEST_ID) {
            Only::Once(value) if is_well_formed(value.as_bytes()) => Self::from_bytes(value.as_bytes()),
            Only::Once(_) | Only::Absent | Only::Repeated => Self::new(entropy),
        }
    }

    fn new(entropy: &dyn Entropy) -> Self {
        let mut random = [0; RANDOM_BYTES];
        entropy.fill(&mut random);
        let digit = |nibble: u8| DIGITS.get(usize::from(nibble)).copied().unwrap_or_default();
        let mut text = [0; 2 * RANDOM_BYTES];
        for (digits, byte) in text.as_chunks_mut::<2>().0.iter_mut().zip(random) {
            *digits = [digit(byte >> 4), digit(byte & 15)];
        }
        Self::from_bytes(&text)
    }

    /// Copies at most [`MAX_LENGTH`] bytes.
    fn from_bytes(bytes: &[u8]) -> Self {
        let mut text = [0; MAX_LENGTH];
        text.iter_mut().zip(bytes).for_each(|(target, byte)| *target = *byte);
        Self { text, length: bytes.len().min(MAX_LENGTH) }
    }

    fn as_bytes(&self) -> &[u8] {
        self.text.get(..self.length).unwrap_or_default()
    }

    /// Returns the id as text.
    pub(crate) fn as_str(&self) -> &str {
        std::str::from_utf8(self.as_bytes()).unwrap_or_default()
    }

    /// Returns the id as a header value.
    pub(crate) fn to_header(self) -> HeaderValue {
        HeaderValue::from_bytes(self.as_bytes()).unwrap_or(HeaderValue::from_static("unnamed"))
    }
}

impl std::fmt::Debug for RequestId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("RequestId").field(&self.as_str()).finish()
    }
}

fn is_well_formed(name: &[u8]) -> bool {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    (1..=MAX_LENGTH).contains(&name.len()) && name.iter().all(plain)
}

/// The id of a request and when it arrived.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestStart {
    pub(crate) id: RequestId,
    /// Monotonic time of arrival.
    since: Duration,
}

impl RequestStart {
    /// Records a request that arrives now with these headers.
    pub(crate) fn new(headers: &HeaderMap, clock: &dyn Clock, entropy: &dyn Entropy) -> Self {
        Self { id: RequestId::of(headers, entropy), since: clock.monotonic() }
    }

    /// Returns what the edge stored in the request's extensions, if any.
    pub(crate) fn of(request: &HttpRequest) -> Option<Self> {
        request.extensions().get::<Self>().copied()
    }

    /// Returns the time from its arrival to this monotonic time.
    pub(crate) fn elapsed_at(&self, monotonic: Duration) -> Duration {
        monotonic.saturating_sub(self.since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Yields the bytes 0x00, 0x11, 0x22 and so on.
    struct Counting;

    const GENERATED: &str = "00112233445566778899aabbccddeeff";

    impl Entropy for Counting {
        fn fill(&self, bytes: &mut [u8]) {
            (0..)
                .map(|number: u8| number.wrapping_mul(17))
                .zip(bytes)
                .for_each(|(byte, target)| *target = byte);
        }
    }

    fn id(sent: &[&[u8]]) -> String {
        let mut headers = HeaderMap::new();
        for value in sent {
            headers.append(X_REQUEST_ID, HeaderValue::from_bytes(value).unwrap());
        }
        let id = RequestId::of(&headers, &Counting);
        assert_eq!(id.to_header(), id.as_str());
        id.as_str().to_owned()
    }

    #[test]
    fn keeps_well_formed_ids_and_replaces_others() {
        assert_eq!(id(&[b"A-z_0.9"]), "A-z_0.9");
        assert_eq!(id(&[&[b'x'; 64]]), "x".repeat(64));
        for bad in [&[b'x'; 65][..], b"", b"a b", b"a\"b", b"\xff", b"a/b"] {
            assert_eq!(id(&[bad]), GENERATED);
        }
        assert_eq!(id(&[]), GENERATED);
        assert_eq!(id(&[b"one", b"two"]), GENERATED);
    }
}
