//! Identifiers: one type per resource, so that a guild id cannot be passed for a user id.

use super::Invalid;
use crate::named::{checked_text, parsed};
use std::{fmt, num::NonZeroU64};

const SNOWFLAKE: &str = "a platform id: a decimal number from 1 to 18446744073709551615, as text";
const SLUG: &str = "1 to 64 characters out of A-Z, a-z, 0-9, _ and -";

/// Parses the canonical spelling of a number: digits only, no sign, no leading zero.
fn parse_canonical<T: TryFrom<u64>>(text: &str) -> Option<T> {
    if text.is_empty() || text.starts_with('0') && text != "0" {
        return None;
    }
    let append = |number: u64, byte: u8| {
        let digit = char::from(byte).to_digit(10)?;
        number.checked_mul(10)?.checked_add(digit.into())
    };
    T::try_from(text.bytes().try_fold(0, append)?).ok()
}

macro_rules! snowflake {
    ($(#[$doc:meta])* $name:ident, $field:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(NonZeroU64);

        impl $name {
            /// Creates an id. Zero is not an id.
            pub fn new(number: u64) -> Result<Self, Invalid> {
                NonZeroU64::new(number).map(Self).ok_or(Invalid::new($field, SNOWFLAKE))
            }

            /// Returns the id as a number.
            #[must_use]
            pub const fn get(self) -> u64 {
                self.0.get()
            }
        }

        parsed!($name, $field, SNOWFLAKE, |text| parse_canonical(text).map(Self));

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

snowflake!(
    /// A user of the chat platform.
    UserId,
    "user id"
);
snowflake!(
    /// A guild (server) of the chat platform.
    GuildId,
    "guild id"
);
snowflake!(
    /// A channel of a guild on the platform.
    ChannelId,
    "channel id"
);
snowflake!(
    /// A role of a guild on the platform.
    RoleId,
    "role id"
);

impl GuildId {
    /// Returns which of `shards` shards of the bot sees this guild, by the platform's own formula.
    #[must_use]
    pub const fn shard(self, shards: std::num::NonZeroU32) -> u32 {
        ((self.get() >> 22) % shards.get() as u64) as u32
    }
}

fn is_slug(text: &str) -> bool {
    let is_allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    (1..=64).contains(&text.len()) && text.bytes().all(is_allowed)
}

checked_text!(
    /// The id of an entry of feedback, chosen by the bot.
    FeedbackId,
    "feedback id",
    SLUG,
    is_slug
);
checked_text!(
    /// The id of a process of the bot that reports its own status, chosen by the bot.
    ClusterId,
    "cluster id",
    SLUG,
    is_slug
);

checked_text!(
    /// The id of a notice, chosen by its publisher.
    NoticeId,
    "notice id",
    SLUG,
    is_slug
);

/// A gateway connection of the bot, numbered from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShardId(u32);

impl ShardId {
    /// Creates the id of a shard.
    #[must_use]
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// Returns the shard's number.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }
}

parsed!(ShardId, "shard id", "a decimal number from 0 to 4294967295, as text", |text| {
    parse_canonical(text).map(Self)
});

impl fmt::Display for ShardId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::num::NonZeroU32;

    #[test]
    fn parses_only_canonical_snowflakes() {
        for (text, number) in
            [("1", 1), ("80351110224678912", 80_351_110_224_678_912), ("18446744073709551615", u64::MAX)]
        {
            assert_eq!(text.parse::<UserId>().map(UserId::get), Ok(number));
        }
        for text in ["", "0", "01", "+1", "-1", " 1", "1 ", "1.0", "1e3", "٣", "18446744073709551616", "abc"]
        {
            assert_eq!(text.parse::<GuildId>().unwrap_err().field, "guild id", "{text:?}");
        }
        assert_eq!(UserId::new(0).unwrap_err().field, "user id");
        assert_eq!(RoleId::new(0).unwrap_err().to_string(), format!("role id must be {SNOWFLAKE}"));
    }

    #[test]
    fn text_ids_have_up_to_64_plain_characters() {
        for text in ["a", "A-z_09", &"x".repeat(64)] {
            assert_eq!(text.parse::<FeedbackId>().unwrap().as_str(), text);
        }
        for text in ["", "a b", "a/b", "ä", "a\0", &"x".repeat(65)] {
            assert_eq!(
                text.parse::<FeedbackId>().unwrap_err(),
                Invalid::new("feedback id", SLUG),
                "{text:?}"
            );
            assert_eq!(text.parse::<ClusterId>().unwrap_err().field, "cluster id", "{text:?}");
        }
    }

    #[test]
    fn shard_ids_count_from_zero() {
        assert_eq!("0".parse(), Ok(ShardId::new(0)));
        assert_eq!("4294967295".parse::<ShardId>().map(ShardId::get), Ok(u32::MAX));
        assert_eq!(ShardId::new(12).to_string(), "12");
        for text in ["", "00", "01", "+1", "-1", "4294967296", "x"] {
            assert_eq!(text.parse::<ShardId>().unwrap_err().field, "shard id", "{text:?}");
        }
    }

    #[test]
    fn computes_shards_by_the_platforms_formula() {
        let shards = NonZeroU32::new(16).unwrap();
        assert_eq!(GuildId::new(197_038_439_483_310_086).unwrap().shard(shards), 2);
        assert_eq!(GuildId::new((5 << 22) + 3).unwrap().shard(shards), 5);
        assert_eq!(GuildId::new(17 << 22).unwrap().shard(shards), 1);
    }

    proptest! {
        #[test]
        fn accepted_snowflakes_are_canonical(text in "\\PC*") {
            prop_assert_eq!(text.parse::<UserId>().is_ok_and(|id| id.to_string() != text), false);
        }
    }
}
