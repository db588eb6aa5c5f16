//! The key that every request of the management API carries.

use crate::guesses::Guesses;
use actix_web::{
    HttpRequest,
    http::header::{AUTHORIZATION, HeaderMap},
};
use companion_domain::model::Secret;
use companion_http::{
    ApiError, Client, TrustedProxies,
    headers::{Only, only},
};
use sha2::{Digest as _, Sha256};
use std::{fmt, sync::Arc};

const SCHEME: &[u8] = b"Bearer ";

/// The keys that are accepted. Only their hashes are kept: comparing those takes the same time for every guess.
#[derive(Clone)]
pub struct ManagementKeys(Vec<[u8; 32]>);

impl ManagementKeys {
    /// Accepts any of these keys; an empty one is none.
    #[must_use]
    pub fn new(keys: &[Secret]) -> Self {
        let keys = keys.iter().filter(|key| !key.expose().is_empty());
        Self(keys.map(|key| Sha256::digest(key.expose()).into()).collect())
    }

    /// Lets a request through that carries one of the keys.
    fn check(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        let sent = match only(headers, &AUTHORIZATION) {
            Only::Absent => return Err(ApiError::KeyMissing),
            Only::Once(sent) if sent.is_empty() => return Err(ApiError::KeyMissing),
            Only::Once(sent) => sent.as_bytes(),
            Only::Repeated => return Err(ApiError::KeyInvalid),
        };
        let (scheme, key) = sent.split_at_checked(SCHEME.len()).ok_or(ApiError::KeyInvalid)?;
        let hash: [u8; 32] = Sha256::digest(key.trim_ascii_start()).into();
        // Every key is compared, so the time taken tells nothing about which one is near.
        let matching = self.0.iter().filter(|known| equal(known, &hash)).count();
        if scheme.eq_ignore_ascii_case(SCHEME) && matching > 0 { Ok(()) } else { Err(ApiError::KeyInvalid) }
    }
}

/// The keys, and who tries them.
#[derive(Debug, Clone)]
pub(crate) struct Access {
    keys: ManagementKeys,
    proxies: TrustedProxies,
    guesses: Arc<Guesses>,
}

impl Access {
    pub(crate) fn new(keys: ManagementKeys, proxies: TrustedProxies) -> Self {
        Self { keys, proxies, guesses: Arc::new(Guesses::new()) }
    }

    /// Lets a request through that carries one of the keys, unless its client tried too many wrong ones.
    pub(crate) fn check(&self, request: &HttpRequest) -> Result<(), ApiError> {
        let Some(client) = Client::of(request, &self.proxies) else {
            return self.keys.check(request.headers());
        };
        self.guesses.check(client)?;
        let checked = self.keys.check(request.headers());
        match checked {
            Ok(()) => self.guesses.right(client),
            Err(ApiError::KeyInvalid) => self.guesses.wrong(client),
            Err(_) => {}
        }
        checked
    }
}

fn equal(one: &[u8; 32], other: &[u8; 32]) -> bool {
    one.iter().zip(other).fold(0, |differing, (a, b)| differing | (a ^ b)) == 0
}

impl fmt::Debug for ManagementKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ManagementKeys({})", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix_web::http::header::HeaderValue;

    fn word(sent: &[&[u8]]) -> Result<(), &'static str> {
        let keys = ["first", "second", "drítte", ""].map(|key| Secret::new(key.into()));
        let keys = ManagementKeys::new(&keys);
        let mut headers = HeaderMap::new();
        for sent in sent {
            headers.append(AUTHORIZATION, HeaderValue::from_bytes(sent).unwrap());
        }
        keys.check(&headers).map_err(|error| error.problem().word)
    }

    #[test]
    fn any_of_the_keys_opens_and_nothing_else() {
        for sent in [&b"Bearer first"[..], b"bearer second", b"Bearer  first", "BEARER drítte".as_bytes()] {
            assert_eq!(word(&[sent]), Ok(()));
        }
        for sent in [&[][..], &[&b""[..]]] {
            assert_eq!(word(sent), Err("key_missing"));
        }
        assert_eq!(word(&[b"Bearer first", b"Bearer first"]), Err("key_invalid"));
        for sent in [
            &b"Bearer"[..],
            b"Bearer ",
            b"Bearerfirst",
            b"Bearer\tfirst",
            b"first",
            b"Basic first",
            b"Bearer firs",
            b"Bearer first ",
            b"Bearer \xff",
        ] {
            assert_eq!(word(&[sent]), Err("key_invalid"), "{sent:?}");
        }
        assert!(ManagementKeys::new(&[]).check(&HeaderMap::new()).is_err());
    }
}
