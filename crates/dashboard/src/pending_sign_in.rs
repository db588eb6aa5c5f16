//! A sign-in in progress, stored only in a cookie of the browser that began it.
//!
//! The cookie contains the start time, the return path and a random value, which the platform gets as `state`. It does
//! not contain the PKCE verifier, which is our signature of the random value. So reading the cookie or the redirect URL
//! is not enough to exchange the code.

use crate::cookie::SigningKeys;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use companion_domain::{
    model::{CodeVerifier, Span, Timestamp},
    port::Entropy,
};
use sha2::{Digest as _, Sha256};

/// Maximum duration of a sign-in at the platform.
pub(crate) const LIFETIME: Span = Span::from_seconds(600);

const COOKIE: &str = "sign-in";
const VERIFIER: &str = "verifier";

/// A sign-in in progress.
pub(crate) struct PendingSignIn {
    /// The OAuth `state` parameter.
    pub(crate) state: String,
    /// Where to go after the sign-in.
    pub(crate) back: String,
    verifier: String,
}

impl PendingSignIn {
    /// Begins a sign-in. Returns it with the cookie value.
    pub(crate) fn begin(
        keys: &SigningKeys,
        entropy: &dyn Entropy,
        now: Timestamp,
        back: &str,
    ) -> (Self, String) {
        let mut random = [0; 24];
        entropy.fill(&mut random);
        let state = URL_SAFE_NO_PAD.encode(random);
        let text = format!("{}.{state}.{}", now.seconds(), URL_SAFE_NO_PAD.encode(back));
        let key = keys.first();
        let kept = format!("{text}.{}", key.sign(COOKIE, &text));
        let verifier = key.sign(VERIFIER, &state);
        (Self { state, back: return_path(back).to_owned(), verifier }, kept)
    }

    /// Restores a sign-in from its cookie. Returns `None` if the signature is invalid or it has expired.
    pub(crate) fn resume(keys: &SigningKeys, kept: &str, now: Timestamp) -> Option<Self> {
        let (text, signature) = kept.rsplit_once('.')?;
        let key = keys.signer(COOKIE, text, signature)?;
        let mut parts = text.split('.');
        let (begun, state, back) = (parts.next()?, parts.next()?, parts.next()?);
        let begun = Timestamp::from_seconds(begun.parse().ok()?).ok()?;
        if now.age_of(begun) >= LIFETIME.get() {
            return None;
        }
        let back = String::from_utf8(URL_SAFE_NO_PAD.decode(back).ok()?).ok()?;
        let verifier = key.sign(VERIFIER, state);
        Some(Self { state: state.to_owned(), back: return_path(&back).to_owned(), verifier })
    }

    /// Returns the PKCE verifier.
    pub(crate) fn verifier(&self) -> Option<CodeVerifier> {
        self.verifier.parse().ok()
    }

    /// Returns the PKCE challenge.
    pub(crate) fn challenge(&self) -> String {
        URL_SAFE_NO_PAD.encode(Sha256::digest(&self.verifier))
    }
}

/// Maximum length of a return path.
const LONGEST_PATH: usize = 256;

/// Returns where to go after a sign-in: the requested path if it is a safe path of this site, otherwise that of the
/// user's guilds.
pub(crate) fn return_path(asked: &str) -> &str {
    if is_ours(asked) { asked } else { "/guilds" }
}

/// Whether browsers can only read this as a path of this site. Two slashes would start a host; browsers treat `\` as
/// `/` and drop control characters. The sign-in paths themselves would redirect in a loop.
pub(crate) fn is_ours(path: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'_');
    let leads_back = ["/sign-in", "/callback", "/sign-out"].iter().any(|way| path.starts_with(way));
    path.len() <= LONGEST_PATH
        && path.starts_with('/')
        && !path.contains("//")
        && path.bytes().all(plain)
        && !leads_back
        && path != "/"
}

#[cfg(test)]
mod tests {
    use super::*;
    use companion_domain::model::SecretKey;
    use companion_testkit::{entropy::SeededEntropy, world::at};

    fn keys(first: u8, older: &[u8]) -> SigningKeys {
        let key = |byte: &u8| SecretKey::new([*byte; 32]);
        SigningKeys::new(&key(&first), &older.iter().map(key).collect::<Vec<_>>())
    }

    fn begun() -> (PendingSignIn, String) {
        PendingSignIn::begin(&keys(1, &[]), &SeededEntropy::default(), at(1000), "/team")
    }

    #[test]
    fn resumes_a_sign_in_after_key_rotation() {
        let (pending, kept) = begun();
        for ring in [keys(1, &[]), keys(2, &[1])] {
            let resumed = PendingSignIn::resume(&ring, &kept, at(1599)).unwrap();
            assert_eq!((&resumed.state, &*resumed.back), (&pending.state, "/team"));
            assert_eq!(resumed.verifier(), pending.verifier());
        }
    }

    #[test]
    fn the_cookie_does_not_contain_the_verifier() {
        let (pending, kept) = begun();
        let verifier = pending.verifier().unwrap();
        assert_eq!(pending.challenge(), URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.expose())));
        assert!(!kept.contains(verifier.expose()) && kept.contains(&pending.state));
    }

    #[test]
    fn rejects_expired_and_forged_cookies() {
        let (_, kept) = begun();
        assert!(PendingSignIn::resume(&keys(1, &[]), &kept, at(1600)).is_none());
        assert!(PendingSignIn::resume(&keys(2, &[]), &kept, at(1000)).is_none());
        for forged in
            ["", "a.b.c.d", &kept.replacen("1000", "1001", 1), kept.trim_end_matches(char::is_alphanumeric)]
        {
            assert!(PendingSignIn::resume(&keys(1, &[]), forged, at(1000)).is_none(), "{forged}");
        }
    }

    #[test]
    fn accepts_only_return_paths_of_this_site() {
        for ours in ["/guilds", "/guilds/123", "/my-data", "/team"] {
            assert_eq!(return_path(ours), ours);
        }
        for not_ours in [
            "",
            "/",
            "guilds",
            "//evil.example",
            "/\\evil.example",
            "/a//b",
            "https://evil.example/",
            "/\t/evil.example",
            "/%2f/evil.example",
            "/guilds?x=1",
            "/sign-in",
            "/callback",
            "/sign-out",
            "/ä",
            &format!("/{}", "x".repeat(LONGEST_PATH)),
        ] {
            assert_eq!(return_path(not_ours), "/guilds", "{not_ours}");
        }
    }
}
