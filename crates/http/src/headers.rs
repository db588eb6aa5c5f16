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

    fn with(values: &[&[u8]], header: &HeaderName) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header.clone(), HeaderValue::from_bytes(value).unwrap());
        }
        headers
    }

    #[test]
    fn shown_header_names_match_the_wire_names() {
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
    fn distinguishes_missing_from_invalid_tokens() {
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
    fn parses_sent_epoch_as_plain_decimal_seconds() {
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
