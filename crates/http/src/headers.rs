//! The headers that callers send: their names, and what makes them acceptable.

use crate::error::ApiError;
use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use companion_domain::{model::CodeVerifier, session::UserAgent};

/// Carries the identity provider's code.
pub(crate) const IDP_CODE: HeaderName = HeaderName::from_static("idp-code");
/// Carries a PKCE verifier.
pub(crate) const IDP_CODE_VERIFIER: HeaderName = HeaderName::from_static("idp-code-verifier");
/// Carries a session token.
pub(crate) const TOKEN: HeaderName = HeaderName::from_static("token");
/// Says when the request was sent.
pub(crate) const SENT_EPOCH: HeaderName = HeaderName::from_static("sent-epoch");
/// Names a request, in both directions.
pub(crate) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The names as people write them.
pub(crate) mod name {
    pub(crate) const IDP_CODE: &str = "Idp-Code";
    pub(crate) const IDP_CODE_VERIFIER: &str = "Idp-Code-Verifier";
    pub(crate) const TOKEN: &str = "Token";
    pub(crate) const X_REQUEST_ID: &str = "X-Request-Id";
}

const CREDENTIAL: &str = "sent once, in printable ASCII";

/// The value of a header that was sent exactly once.
pub fn only<'a>(headers: &'a HeaderMap, header: &HeaderName) -> Only<'a> {
    let mut values = headers.get_all(header);
    match (values.next(), values.next()) {
        (None, _) => Only::Absent,
        (Some(value), None) => Only::Once(value),
        (Some(_), Some(_)) => Only::Repeated,
    }
}

/// How often a header was sent.
pub enum Only<'a> {
    /// Not at all.
    Absent,
    /// With this value.
    Once(&'a HeaderValue),
    /// More than once.
    Repeated,
}

/// What the caller's device calls itself, where it says so in text.
#[must_use]
pub fn user_agent(headers: &HeaderMap) -> Option<UserAgent> {
    let value = headers.get(USER_AGENT)?;
    UserAgent::sent(&String::from_utf8_lossy(value.as_bytes()))
}

/// The code that the caller wants to exchange, as it was sent.
pub(crate) fn idp_code(headers: &HeaderMap) -> Result<&str, ApiError> {
    credential(headers, &IDP_CODE, name::IDP_CODE)?.ok_or(ApiError::IdpCodeMissing)
}

/// The session token, as it was sent.
pub fn token(headers: &HeaderMap) -> Result<&str, ApiError> {
    credential(headers, &TOKEN, name::TOKEN)?.ok_or(ApiError::TokenMissing)
}

/// The PKCE verifier, where one was sent.
pub(crate) fn code_verifier(headers: &HeaderMap) -> Result<Option<CodeVerifier>, ApiError> {
    let refused = |expected| ApiError::HeaderInvalid { header: name::IDP_CODE_VERIFIER, expected };
    match only(headers, &IDP_CODE_VERIFIER) {
        Only::Absent => Ok(None),
        Only::Repeated => Err(refused("sent once")),
        Only::Once(value) => {
            // What is not text is not a verifier either: the empty text stands for it.
            let verifier = value.to_str().unwrap_or_default().parse::<CodeVerifier>();
            verifier.map(Some).map_err(|invalid| refused(invalid.expected))
        }
    }
}

/// When the caller says it sent the request, in seconds since 1970. It only serves a measurement, so what cannot be
/// read counts as not sent.
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

/// Text that was sent once and is printable ASCII; nothing where it is absent or empty.
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

    fn with(values: &[&[u8]], header: &HeaderName) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header.clone(), HeaderValue::from_bytes(value).unwrap());
        }
        headers
    }

    #[test]
    fn the_two_spellings_of_each_name_agree() {
        for (header, spelled) in [
            (IDP_CODE, name::IDP_CODE),
            (IDP_CODE_VERIFIER, name::IDP_CODE_VERIFIER),
            (TOKEN, name::TOKEN),
            (SENT_EPOCH, "Sent-Epoch"),
            (X_REQUEST_ID, name::X_REQUEST_ID),
        ] {
            assert_eq!(header.as_str(), spelled.to_ascii_lowercase());
        }
    }

    #[test]
    fn a_token_is_missing_when_absent_or_empty_and_invalid_when_repeated_or_not_printable() {
        let word = |values: &[&[u8]]| {
            token(&with(values, &TOKEN)).map_err(|error| error.problem().word).map(str::len)
        };
        assert_eq!(word(&[]), Err("token_missing"));
        assert_eq!(word(&[b""]), Err("token_missing"));
        assert_eq!(word(&[b"a", b"a"]), Err("header_invalid"));
        assert_eq!(word(&[b"", b""]), Err("header_invalid"));
        assert_eq!(word(&["tökén".as_bytes()]), Err("header_invalid"));
        assert_eq!(word(&[b"\xff"]), Err("header_invalid"));
        assert_eq!(word(&[b"a\tb"]), Err("header_invalid"));
        assert_eq!(word(&[b"a b"]), Ok(3));
    }

    #[test]
    fn a_verifier_is_optional_but_never_malformed() {
        let word = |values: &[&[u8]]| {
            code_verifier(&with(values, &IDP_CODE_VERIFIER))
                .map(|found| found.is_some())
                .map_err(|error| error.problem().word)
        };
        assert_eq!(word(&[]), Ok(false));
        assert_eq!(word(&[&[b'v'; 43]]), Ok(true));
        for bad in [&[b'v'; 42][..], &[b'v'; 129], b"", b"\xff", &[b'='; 43]] {
            assert_eq!(word(&[bad]), Err("header_invalid"));
        }
        assert_eq!(word(&[&[b'v'; 43], &[b'v'; 43]]), Err("header_invalid"));
    }

    #[test]
    fn a_time_of_sending_is_plain_decimal_seconds_or_nothing() {
        let read = |value: &[u8]| sent_epoch(&with(&[value], &SENT_EPOCH));
        assert_eq!(read(b"1700000000"), Some(1_700_000_000.0));
        assert_eq!(read(b"1700000000.25"), Some(1_700_000_000.25));
        assert_eq!(read(b"0"), Some(0.0));
        for bad in [
            "",
            ".",
            "1.",
            ".5",
            "-1",
            "+1",
            "1e9",
            "NaN",
            "inf",
            "0x10",
            "1,5",
            "1 ",
            "1.2.3",
            "1700000000000000",
        ] {
            assert_eq!(read(bad.as_bytes()), None, "{bad}");
        }
        assert_eq!(sent_epoch(&with(&[b"1", b"1"], &SENT_EPOCH)), None);
    }
}
