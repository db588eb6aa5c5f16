//! What the platform reports about a user, and the tokens to request it with.

use super::{GuildId, Name, Secret, Timestamp, WebUrl};
use crate::named::parsed;
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// A guild in the platform's list of a user's guilds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Membership {
    /// The guild.
    pub guild: GuildId,
    /// Whether the user owns it.
    pub owner: bool,
    /// The user's permissions there.
    pub permissions: PlatformPermissions,
}

impl Membership {
    /// Returns whether the user can add a bot to the guild.
    #[must_use]
    pub const fn is_managed(&self) -> bool {
        self.owner || self.permissions.administrator() || self.permissions.manage_server()
    }
}

/// The name and picture of a guild, as the platform reports them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedGuild {
    /// The guild.
    pub guild: GuildId,
    /// Its name.
    pub name: Name,
    /// Its icon, if it has one.
    pub icon: Option<WebUrl>,
}

/// All guilds of a user, as the platform lists them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlatformGuilds {
    /// Each guild once, in any order.
    pub memberships: Vec<Membership>,
    /// The names of these guilds, as far as they are readable.
    pub names: Vec<NamedGuild>,
}

/// The platform's permission bits of a user in a guild: the lowest 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct PlatformPermissions(u64);

impl PlatformPermissions {
    const ADMINISTRATOR: u64 = 1 << 3;
    const MANAGE_SERVER: u64 = 1 << 5;

    /// Creates permissions from their bits.
    #[must_use]
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// Returns the lowest 64 bits, as the platform numbers them.
    #[must_use]
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// Returns whether the user has the platform's Administrator permission.
    #[must_use]
    pub const fn administrator(self) -> bool {
        self.0 & Self::ADMINISTRATOR != 0
    }

    /// Returns whether the user has the platform's Manage Server permission.
    #[must_use]
    pub const fn manage_server(self) -> bool {
        self.0 & Self::MANAGE_SERVER != 0
    }
}

parsed!(PlatformPermissions, "permissions", "a decimal number, as text", |text| {
    let is_number = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    // The platform may define more than 64 bits. Wrapping arithmetic drops the higher ones.
    let add = |bits: u64, digit: u8| bits.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
    is_number.then(|| Self(text.bytes().fold(0, add)))
});

/// The platform's list of a user's guilds, and when it was fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuildList {
    /// The guilds.
    pub memberships: Arc<[Membership]>,
    /// Guilds that the user manages and that lacked the bot when it was fetched: at most
    /// [`MAX_WITHOUT_BOT`](Self::MAX_WITHOUT_BOT). Empty in lists of older versions.
    pub without_bot: Vec<NamedGuild>,
    /// When it was fetched.
    pub fetched_at: Timestamp,
}

impl GuildList {
    /// Maximum number of guilds without the bot that are stored with a list.
    pub const MAX_WITHOUT_BOT: usize = 200;
}

/// The tokens for requests to the platform on behalf of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlatformTokens {
    /// Authorises requests until `expires_at`.
    pub access: Secret,
    /// Obtains new tokens, once.
    pub refresh: Option<Secret>,
    /// When `access` expires.
    pub expires_at: Timestamp,
}

/// Declares a type of text that a function accepts and that is never displayed.
macro_rules! secret_text {
    ($(#[$doc:meta])* $name:ident, $field:literal, $expected:literal, $accepts:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $name(Secret);

        impl $name {
            /// Returns the text. Only for sending it to the platform.
            #[must_use]
            pub fn expose(&self) -> &str {
                self.0.expose()
            }
        }

        parsed!($name, $field, $expected, |text| {
            let is_accepted: fn(&str) -> bool = $accepts;
            is_accepted(text).then(|| Self(Secret::new(text.to_owned())))
        });
    };
}

secret_text!(
    /// The authorisation code that the platform gives to the user's browser at the end of a sign-in.
    IdpCode,
    "code",
    "1 to 1024 printable ASCII characters without spaces",
    |text| (1..=Self::MAX_LENGTH).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic())
);
secret_text!(
    /// The secret that proves that a client began the sign-in (PKCE, RFC 7636).
    CodeVerifier,
    "code verifier",
    "43 to 128 characters out of A-Z, a-z, 0-9, -, ., _ and ~",
    |text| {
        let unreserved = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b'~');
        (43..=128).contains(&text.len()) && text.bytes().all(unreserved)
    }
);

impl IdpCode {
    /// Maximum length of a code, in bytes.
    pub const MAX_LENGTH: usize = 1024;

    /// Returns the hash by which a used code is recognised.
    #[must_use]
    pub fn fingerprint(&self) -> CodeFingerprint {
        CodeFingerprint(Sha256::digest(self.expose()).into())
    }
}

/// The SHA-256 of a code: enough to recognise it, useless for a sign-in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CodeFingerprint([u8; 32]);

impl CodeFingerprint {
    /// Creates a fingerprint from its stored bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the hash, to be stored in place of the code.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// Builds URLs of the platform's picture server: avatars, and default pictures for users and guilds without one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PictureServer(WebUrl);

impl PictureServer {
    /// Creates a picture server with this base URL.
    #[must_use]
    pub const fn new(base: WebUrl) -> Self {
        Self(base)
    }

    /// Returns the URL of the platform's default picture for a snowflake.
    #[must_use]
    pub fn default_picture(&self, snowflake: u64) -> String {
        format!("{}/embed/avatars/{}.png", self.0.as_str().trim_end_matches('/'), (snowflake >> 22) % 6)
    }

    /// Returns the URL of a user's avatar. The hash of an animated one begins with `a_`.
    #[must_use]
    pub fn avatar(&self, user: super::UserId, hash: &str) -> String {
        let kind = if hash.starts_with("a_") { "gif" } else { "png" };
        format!("{}/avatars/{user}/{hash}.{kind}", self.0.as_str().trim_end_matches('/'))
    }

    /// Returns the URL of a guild's icon, not animated.
    #[must_use]
    pub fn icon(&self, guild: GuildId, hash: &str) -> String {
        format!("{}/icons/{guild}/{hash}.png", self.0.as_str().trim_end_matches('/'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::UserId;

    #[test]
    fn permissions_are_the_lowest_64_bits() {
        let bits = |text: &str| text.parse::<PlatformPermissions>();
        assert_eq!(bits("18446744073709551615").map(PlatformPermissions::bits), Ok(u64::MAX));
        // 2^64, 2^70 and 2^200, plus a small number.
        for (text, low) in [
            ("18446744073709551616", 0),
            ("1180591620717411303432", 8),
            ("1606938044258990275541962092341162602522202993782792835301416", 40),
        ] {
            assert_eq!(bits(text).map(PlatformPermissions::bits), Ok(low), "{text}");
        }
        for (text, administrator, manage) in
            [("0", false, false), ("8", true, false), ("32", false, true), ("2147483687", false, true)]
        {
            let permissions = bits(text).unwrap();
            assert_eq!(
                (permissions.administrator(), permissions.manage_server()),
                (administrator, manage),
                "{text}"
            );
        }
        for text in ["", "-1", "+8", "0x8", "8.0", " 8"] {
            assert_eq!(bits(text).unwrap_err().field, "permissions", "{text:?}");
        }
    }

    #[test]
    fn codes_are_bounded_printable_ascii_and_redacted() {
        let longest = "x".repeat(1024);
        assert_eq!(longest.parse::<IdpCode>().unwrap().expose(), longest);
        for text in ["", "a b", "a\n", "ä", &"x".repeat(1025)] {
            assert_eq!(text.parse::<IdpCode>().unwrap_err().field, "code", "{text:?}");
        }
        assert_eq!(format!("{:?}", "canary".parse::<IdpCode>().unwrap()), "IdpCode(Secret(…))");
    }

    #[test]
    fn fingerprints_of_codes_are_their_sha_256() {
        let fingerprint = |text: &str| text.parse::<IdpCode>().unwrap().fingerprint();
        assert_eq!(fingerprint("a"), fingerprint("a"));
        assert_ne!(fingerprint("a"), fingerprint("b"));
        assert_eq!(CodeFingerprint::from_bytes(*fingerprint("a").as_bytes()), fingerprint("a"));
        assert_eq!(fingerprint("abc").as_bytes()[..4], [0xba, 0x78, 0x16, 0xbf], "it is a SHA-256");
    }

    #[test]
    fn verifiers_follow_rfc_7636_and_are_redacted() {
        for text in ["a".repeat(43), "-._~".repeat(32)] {
            assert_eq!(text.parse::<CodeVerifier>().unwrap().expose(), text);
            assert_eq!(format!("{:?}", text.parse::<CodeVerifier>().unwrap()), "CodeVerifier(Secret(…))");
        }
        for text in ["a".repeat(42), "a".repeat(129), format!("{}+", "a".repeat(43))] {
            assert_eq!(text.parse::<CodeVerifier>().unwrap_err().field, "code verifier");
        }
    }

    #[test]
    fn builds_the_platforms_picture_urls() {
        let pictures = PictureServer::new("https://cdn.example/".parse().unwrap());
        let user = UserId::new(80_351_110_224_678_912).unwrap();
        assert_eq!(pictures.avatar(user, "8342"), "https://cdn.example/avatars/80351110224678912/8342.png");
        assert_eq!(pictures.avatar(user, "a_83"), "https://cdn.example/avatars/80351110224678912/a_83.gif");
        assert_eq!(pictures.default_picture(user.get()), "https://cdn.example/embed/avatars/5.png");
    }
}
