//! The key that every request of the management API carries.

use crate::error::ApiError;
use actix_web::http::header::{AUTHORIZATION, HeaderMap};
use companion_domain::model::Secret;
use sha2::{Digest as _, Sha256};
use std::fmt;

/// The keys that are accepted. Only their hashes are kept: comparing those takes the same time for every guess.
#[derive(Clone)]
pub struct ManagementKeys(Vec<[u8; 32]>);

impl ManagementKeys {
    /// Accepts any of these keys.
    #[must_use]
    pub fn new(keys: &[Secret]) -> Self {
        Self(keys.iter().map(|key| Sha256::digest(key.expose()).into()).collect())
    }

    /// Lets a request through that carries one of the keys.
    pub(super) fn check(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        let sent = headers.get(AUTHORIZATION).ok_or(ApiError::KeyMissing)?;
        let (scheme, key) =
            sent.to_str().ok().and_then(|text| text.split_once(' ')).ok_or(ApiError::KeyInvalid)?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(ApiError::KeyInvalid);
        }
        let hash: [u8; 32] = Sha256::digest(key.trim_start()).into();
        let matching = self.0.iter().filter(|known| equal(known, &hash)).count();
        if matching > 0 { Ok(()) } else { Err(ApiError::KeyInvalid) }
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

    fn word(sent: Option<&[u8]>) -> Result<(), &'static str> {
        let keys = ManagementKeys::new(&[Secret::new("first".into()), Secret::new("second".into())]);
        let mut headers = HeaderMap::new();
        if let Some(sent) = sent {
            headers.insert(AUTHORIZATION, HeaderValue::from_bytes(sent).unwrap());
        }
        keys.check(&headers).map_err(|error| error.problem().word)
    }

    #[test]
    fn any_of_the_keys_opens_and_nothing_else() {
        for sent in [&b"Bearer first"[..], b"bearer second", b"Bearer  first"] {
            assert_eq!(word(Some(sent)), Ok(()));
        }
        assert_eq!(word(None), Err("key_missing"));
        for sent in [
            &b""[..],
            b"Bearer",
            b"Bearer ",
            b"first",
            b"Basic first",
            b"Bearer firs",
            b"Bearer first ",
            b"Bearer \xff",
        ] {
            assert_eq!(word(Some(sent)), Err("key_invalid"), "{sent:?}");
        }
        assert!(ManagementKeys::new(&[]).check(&HeaderMap::new()).is_err());
    }
}
