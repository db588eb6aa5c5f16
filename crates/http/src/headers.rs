//! Names of request headers, and how they are parsed.

use crate::error::ApiError;
use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use companion_domain::{model::CodeVerifier, session::UserAgent};

/// The identity provider's authorisation code.
pub(crate) const IDP_CODE: HeaderName = HeaderName::from_static("idp-code");
/// The PKCE verifier.
pub(crate) const IDP_CODE_VERIFIER: HeaderName = HeaderName::from_static("idp-code-verifier");
/// The session token.
pub(crate) const TOKEN: HeaderName = HeaderName::from_static("token");
/// When the client sent the request.
pub(crate) const SENT_EPOCH: HeaderName = HeaderName::from_static("sent-epoch");
/// The id of a request, in requests and responses.
pub(crate) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Header names as shown to people.
pub(crate) mod name {
    pub(crate) const IDP_CODE: &str = "Idp-Code";
    pub(crate) const IDP_CODE_VERIFIER: &str = "Idp-Code-Verifier";
    pub(crate) const TOKEN: &str = "Token";
    pub(crate) const X_REQUEST_ID: &str = "X-Request-Id";
}

const CREDENTIAL: &str = "sent once, in printable ASCII";

/// Returns whether a header was sent, and its value if it was sent exactly once.
pub fn only<'a>(headers: &'a HeaderMap, header: &HeaderName) -> Only<'a> {
    let mut values = headers.get_all(header);
    match (values.next(), values.next()) {
        (None, _) => Only::Absent,
        (Some(value), None) => Only::Once(value),
        (Some(_), Some(_)) => Only::Repeated,
    }
}

/// How many times a header was sent.
pub enum Only<'a> {
    /// Not at all.
    Absent,
    /// Once, with this value.
    Once(&'a HeaderValue),
    /// More than once.
    Repeated,
}

/// Returns the `User-Agent`, if it is usable.
#[must_use]
pub fn user_agent(headers: &HeaderMap) -> Option<UserAgent> {
    let value = headers.get(USER_AGENT)?;
    UserAgent::sent(&String::from_utf8_lossy(value.as_bytes()))
}

/// Returns the authorisation code as sent. Returns an error if it is missing or malformed.
pub(crate) fn idp_code(headers: &HeaderMap) -> Result<&str, ApiError> {
    credential(headers, &IDP_CODE, name::IDP_CODE)?.ok_or(ApiError::IdpCodeMissing)
}

/// Returns the session token as sent. Returns an error if it is missing or malformed.
pub fn token(headers: &HeaderMap) -> Result<&str, ApiError> {
    credential(headers, &TOKEN, name::TOKEN)?.ok_or(ApiError::TokenMissing)
}

/// Parses the PKCE verifier. Returns `None` if none was sent.
pub(crate) fn code_verifier(headers: &HeaderMap) -> Result<Option<CodeVerifier>, ApiError> {
    let refused = |expected| ApiError::HeaderInvalid { header: name::IDP_CODE_VERIFIER, expected };
    match only(headers, &IDP_CODE_VERIFIER) {
        Only::Absent => Ok(None),
        Only::Repeated => Err(refused("sent once")),
        Only::Once(value) => {
            // Other bytes than text cannot be a verifier either; the empty string is always refused.
            let verifier = value.to_str().unwrap_or_default().parse::<CodeVerifier>();
            verifier.map(Some).map_err(|invalid| refused(invalid.expected))
        }
    }
}

/// Parses when the caller sent the request, in seconds since 1970. Returns `None` if it is malformed, because the value
/// serves only a measurement.
pub(crate) fn sent_epoch(headers: &HeaderMap) -> Option<f64> {
    let Only::Once(value) = only(headers, &SENT_EPOCH) else {
        return None;
    };
    let text = value.to_str().ok()?;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |part: &str, most: usize| {
        (1..=most).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    if digits(whole, 12) && digits(fraction, 9) { text.parse().ok() } else { None }
}

/// Returns a value of printable ASCII, or `None` if it is absent or empty. Returns an error if it was sent twice or has
/// other bytes.
fn credential<'a>(
    headers: &'a HeaderMap,
    header: &HeaderName,
    name: &'static str,
) -> Result<Option<&'a str>, ApiError> {
    let refused = || ApiError::HeaderInvalid { header: name, expected: CREDENTIAL };
    match only(headers, header) {
        Only::Absent => Ok(None),
        Only::Repeated => Err(refused()),
        Only::Once(value) => {
            let text = std::str::from_utf8(value.as_bytes()).map_err(|_| refused())?;
            let printable = text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
            if printable { Ok(Some(text).filter(|text| !text.is_empty())) } else { Err(refused()) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        client::{Client, TrustedProxies},
        origin::Origin,
        request_id::RequestId,
    };
    use actix_web::{
        http::header::{ORIGIN, X_FORWARDED_FOR},
        test::TestRequest,
    };
    use companion_domain::{model::IdpCode, session::TokenRing};
    use companion_testkit::{
        entropy::SeededEntropy,
        hostile::{Hostile, count},
    };
    use std::{hint::black_box, net::IpAddr};

    fn with(values: &[&[u8]], header: &HeaderName) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header.clone(), HeaderValue::from_bytes(value).unwrap());
        }
        headers
    }

    #[test]
    fn parses_sent_epoch_as_plain_decimal_seconds() {
        let read = |value: &[u8]| sent_epoch(&with(&[value], &SENT_EPOCH));
        assert_eq!(read(b"1700000000"), Some(1_700_000_000.0));
        assert_eq!(read(b"1700000000.25"), Some(1_700_000_000.25));
        assert_eq!(read(b"0"), Some(0.0));
        for bad in ["", ".", "1.", ".5", "-1", "+1", "1e9", "NaN", "inf", "0x10", "1,5", "1 ", "1.2.3"] {
            assert_eq!(read(bad.as_bytes()), None, "{bad}");
        }
        assert_eq!(read(b"1700000000000000"), None);
        assert_eq!(sent_epoch(&with(&[b"1", b"1"], &SENT_EPOCH)), None);
    }

    const USUAL: u64 = 5000;
    /// Per header.
    const FULL: u64 = 6_000_000;

    /// Feeds mutated values to `reader`, one in 16 of them sent twice.
    fn fuzz(name: &HeaderName, samples: &[&str], mut reader: impl FnMut(&HeaderMap, &HeaderValue)) {
        let mut hostile = Hostile::new(samples, 1);
        let inputs = count(USUAL, FULL);
        let mut taken = 0_u64;
        for _ in 0..inputs {
            // Bytes that are no header value fail in the parser of request heads, which has its own tests.
            let Ok(value) = HeaderValue::from_bytes(hostile.bytes()) else { continue };
            let mut headers = HeaderMap::new();
            headers.append(name.clone(), value.clone());
            if hostile.below(16) == 0 {
                headers.append(name.clone(), value.clone());
            }
            reader(&headers, &value);
            taken += 1;
        }
        println!("hostile: {inputs} values of {name}, {taken} of them possible in a head: no panic");
        assert!(taken > inputs / 4, "{taken} of {inputs}");
    }

    #[test]
    fn hostile_tokens_are_printable_or_refused() {
        let key = "bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmU=".parse().unwrap();
        let ring = TokenRing::new(&key, &[]);
        let issued: Vec<_> = (0..16).map(|byte| ring.issue(&[byte; 32]).expose().to_owned()).collect();
        let samples: Vec<_> = issued.iter().map(String::as_str).collect();
        fuzz(&TOKEN, &samples, |headers, _| {
            let Ok(token) = token(headers) else { return };
            assert!(token.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()));
            // Tokens that were not issued are rejected, however similar.
            assert_eq!(ring.verify(token).is_ok(), issued.iter().any(|known| known == token), "{token}");
        });
    }

    #[test]
    fn hostile_codes_and_verifiers_are_well_formed_or_refused() {
        fuzz(&IDP_CODE, &["NhhvTDYsFcdgNLnnLijcl7Ku7bEEeee", "a", "code-with_marks.~"], |headers, _| {
            if let Ok(code) = idp_code(headers).map(str::parse::<IdpCode>) {
                assert!(code.is_err() || code.is_ok_and(|code| (1..=1024).contains(&code.expose().len())));
            }
        });
        let samples = ["dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", &"v".repeat(128)];
        fuzz(&IDP_CODE_VERIFIER, &samples, |headers, _| {
            if let Ok(Some(verifier)) = code_verifier(headers) {
                assert!((43..=128).contains(&verifier.expose().len()));
            }
        });
    }

    #[test]
    fn hostile_times_ids_and_origins_are_valid_or_ignored() {
        fuzz(&SENT_EPOCH, &["1700000000", "1700000000.25", "0", "999999999999.999999999"], |headers, _| {
            assert!(sent_epoch(headers).is_none_or(|sent| (0.0..=1e12).contains(&sent)));
        });
        let entropy = SeededEntropy::default();
        fuzz(&X_REQUEST_ID, &["A-z_0.9", "0123456789abcdef0123456789abcdef"], |headers, _| {
            let id = RequestId::of(headers, &entropy);
            assert!((1..=64).contains(&id.as_str().len()));
            assert_eq!(id.to_header(), id.as_str());
        });
        let samples = ["https://dashboard.example", "http://127.0.0.1:8080", "http://[::1]:80", "null"];
        fuzz(&ORIGIN, &samples, |_, value| {
            let Ok(text) = value.to_str() else { return };
            assert!(text.parse::<Origin>().map_or(true, |origin| origin.as_str() == text));
        });
        fuzz(&USER_AGENT, &["Mozilla/5.0 (X11; Linux x86_64)", "curl/8.5.0"], |headers, _| {
            black_box(user_agent(headers));
        });
    }

    #[test]
    fn hostile_forwarded_headers_cannot_forge_a_client() {
        let own = "203.0.113.9".parse::<IpAddr>().unwrap();
        let trusting = TrustedProxies::new(move |address| address == own);
        let wary = TrustedProxies::new(|_| false);
        let samples =
            ["198.51.100.1", "1.2.3.4, 198.51.100.1, 203.0.113.9", "2001:db8::1", "::ffff:10.0.0.1"];
        fuzz(&X_FORWARDED_FOR, &samples, |_, value| {
            let request = TestRequest::default()
                .peer_addr((own, 1).into())
                .append_header((X_FORWARDED_FOR, value.clone()))
                .to_http_request();
            black_box(Client::of(&request, &trusting).unwrap());
            assert_eq!(Client::of(&request, &wary).unwrap().to_string(), own.to_string());
        });
    }
}
