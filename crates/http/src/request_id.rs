//! What is noted of a request when it comes in: its name, by which callers and logs speak of the same thing, and the time.

use crate::headers::{Only, X_REQUEST_ID, only};
use actix_web::{
    HttpMessage as _, HttpRequest,
    http::header::{HeaderMap, HeaderValue},
};
use companion_domain::port::{Clock, Entropy};
use std::time::Duration;

/// The longest name that a caller may give.
const LONGEST: usize = 64;
/// How many random bytes a name of ours shows, two digits each.
const RANDOM: usize = 16;
const DIGITS: [u8; 16] = *b"0123456789abcdef";

/// The name of one request. Every request has one, so it is kept in place: only the answer's header needs memory of its own.
#[derive(Clone, Copy)]
pub(crate) struct RequestId {
    text: [u8; LONGEST],
    length: usize,
}

impl RequestId {
    /// The name that the caller gave, where it is fit to be repeated, or a new one.
    pub(crate) fn of(headers: &HeaderMap, entropy: &dyn Entropy) -> Self {
        match only(headers, &X_REQUEST_ID) {
            Only::Once(value) if is_fit(value.as_bytes()) => Self::from_bytes(value.as_bytes()),
            Only::Once(_) | Only::Absent | Only::Repeated => Self::new(entropy),
        }
    }

    fn new(entropy: &dyn Entropy) -> Self {
        let mut random = [0; RANDOM];
        entropy.fill(&mut random);
        let digit = |nibble: u8| DIGITS.get(usize::from(nibble)).copied().unwrap_or_default();
        let mut text = [0; 2 * RANDOM];
        for (digits, byte) in text.as_chunks_mut::<2>().0.iter_mut().zip(random) {
            *digits = [digit(byte >> 4), digit(byte & 15)];
        }
        Self::from_bytes(&text)
    }

    /// As much of the bytes as a name can hold.
    fn from_bytes(bytes: &[u8]) -> Self {
        let mut text = [0; LONGEST];
        text.iter_mut().zip(bytes).for_each(|(target, byte)| *target = *byte);
        Self { text, length: bytes.len().min(LONGEST) }
    }

    fn as_bytes(&self) -> &[u8] {
        self.text.get(..self.length).unwrap_or_default()
    }

    /// The name as text.
    pub(crate) fn as_str(&self) -> &str {
        std::str::from_utf8(self.as_bytes()).unwrap_or_default()
    }

    /// The name as a header.
    pub(crate) fn to_header(self) -> HeaderValue {
        HeaderValue::from_bytes(self.as_bytes()).unwrap_or(HeaderValue::from_static("unnamed"))
    }
}

impl std::fmt::Debug for RequestId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("RequestId").field(&self.as_str()).finish()
    }
}

fn is_fit(name: &[u8]) -> bool {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    (1..=LONGEST).contains(&name.len()) && name.iter().all(plain)
}

/// The name of a request, and when it came in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Receipt {
    pub(crate) id: RequestId,
    /// In monotonic time.
    since: Duration,
}

impl Receipt {
    /// Takes note of a request with these headers.
    pub(crate) fn new(headers: &HeaderMap, clock: &dyn Clock, entropy: &dyn Entropy) -> Self {
        Self { id: RequestId::of(headers, entropy), since: clock.monotonic() }
    }

    /// Leaves the receipt with its request, for handlers.
    pub(crate) fn attach(self, request: &HttpRequest) {
        request.extensions_mut().insert(self);
    }

    /// The receipt that came with this request.
    pub(crate) fn of(request: &HttpRequest) -> Option<Self> {
        request.extensions().get::<Self>().copied()
    }

    /// How long the request has taken so far.
    pub(crate) fn taken(&self, clock: &dyn Clock) -> Duration {
        self.taken_at(clock.monotonic())
    }

    /// The same by this monotonic time.
    pub(crate) fn taken_at(&self, monotonic: Duration) -> Duration {
        monotonic.saturating_sub(self.since)
    }
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

    /// Gives the bytes from zero on.
    struct Counting;

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

    #[test]
    fn a_name_of_ours_is_its_random_bytes_in_hexadecimal() {
        let made = RequestId::of(&HeaderMap::new(), &Counting);
        assert_eq!(made.as_str(), "00112233445566778899aabbccddeeff");
        assert_eq!(made.to_header(), made.as_str());
    }
}
