//! Fuzzes header parsers: each accepts or rejects malformed values, and what it accepts keeps its guarantees.

use crate::{
    client::{Client, TrustedProxies},
    headers::{self, IDP_CODE, IDP_CODE_VERIFIER, SENT_EPOCH, TOKEN, X_REQUEST_ID},
    origin::Origin,
    request_id::RequestId,
};
use actix_web::{
    http::header::{HeaderMap, HeaderName, HeaderValue, USER_AGENT},
    test::TestRequest,
};
use companion_domain::{model::IdpCode, session::TokenRing};
use companion_testkit::{
    entropy::SeededEntropy,
    hostile::{Hostile, count},
};
use std::{hint::black_box, net::IpAddr};

const USUAL: u64 = 5000;
/// Per header.
const FULL: u64 = 6_000_000;

/// Feeds mutated values to `reader`, one in 16 of them sent twice.
fn read(name: &HeaderName, samples: &[&str], mut reader: impl FnMut(&HeaderMap, &HeaderValue)) {
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
    read(&TOKEN, &samples, |headers, _| {
        let Ok(token) = headers::token(headers) else { return };
        assert!(token.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()));
        // Tokens that were not issued are rejected, however similar.
        assert_eq!(ring.verify(token).is_ok(), issued.iter().any(|known| known == token), "{token}");
    });
}

#[test]
fn hostile_codes_and_verifiers_are_well_formed_or_refused() {
    read(&IDP_CODE, &["NhhvTDYsFcdgNLnnLijcl7Ku7bEEeee", "a", "code-with_marks.~"], |headers, _| {
        if let Ok(code) = headers::idp_code(headers).map(str::parse::<IdpCode>) {
            assert!(code.is_err() || code.is_ok_and(|code| (1..=1024).contains(&code.expose().len())));
        }
    });
    let samples = ["dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", &"v".repeat(128)];
    read(&IDP_CODE_VERIFIER, &samples, |headers, _| {
        if let Ok(Some(verifier)) = headers::code_verifier(headers) {
            assert!((43..=128).contains(&verifier.expose().len()));
        }
    });
}

#[test]
fn hostile_times_ids_and_origins_are_valid_or_ignored() {
    read(&SENT_EPOCH, &["1700000000", "1700000000.25", "0", "999999999999.999999999"], |headers, _| {
        assert!(headers::sent_epoch(headers).is_none_or(|sent| (0.0..=1e12).contains(&sent)));
    });
    let entropy = SeededEntropy::default();
    read(&X_REQUEST_ID, &["A-z_0.9", "0123456789abcdef0123456789abcdef"], |headers, _| {
        let id = RequestId::of(headers, &entropy);
        assert!((1..=64).contains(&id.as_str().len()));
        assert_eq!(id.to_header(), id.as_str());
    });
    let origin = HeaderName::from_static("origin");
    let samples = ["https://dashboard.example", "http://127.0.0.1:8080", "http://[::1]:80", "null"];
    read(&origin, &samples, |_, value| {
        let Ok(text) = value.to_str() else { return };
        assert!(
            text.parse::<Origin>().is_ok_and(|origin| origin.as_str() == text)
                || text.parse::<Origin>().is_err()
        );
    });
    read(&USER_AGENT, &["Mozilla/5.0 (X11; Linux x86_64)", "curl/8.5.0"], |headers, _| {
        black_box(headers::user_agent(headers));
    });
}

#[test]
fn hostile_forwarded_headers_cannot_forge_a_client() {
    let own = "203.0.113.9".parse::<IpAddr>().unwrap();
    let trusting = TrustedProxies::new(move |address| address == own);
    let wary = TrustedProxies::none();
    let forwarded = HeaderName::from_static("x-forwarded-for");
    let samples = ["198.51.100.1", "1.2.3.4, 198.51.100.1, 203.0.113.9", "2001:db8::1", "::ffff:10.0.0.1"];
    read(&forwarded, &samples, |_, value| {
        let request = TestRequest::default()
            .peer_addr((own, 1).into())
            .append_header((forwarded.clone(), value.clone()))
            .to_http_request();
        black_box(Client::of(&request, &trusting).unwrap());
        assert_eq!(Client::of(&request, &wary).unwrap().to_string(), own.to_string());
    });
}
