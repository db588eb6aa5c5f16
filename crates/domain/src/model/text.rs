//! Text that every database and every page can represent.

use crate::named::checked_text;
use std::{ops::RangeInclusive, sync::Arc};

macro_rules! bounded_text {
    ($(#[$doc:meta])* $name:ident, $field:literal, $range:expr, $expected:literal) => {
        checked_text!($(#[$doc])* $name, $field, $expected, |text| is_bounded(text, &Self::LENGTH));

        impl $name {
            /// Allowed number of characters. Used in descriptions of the API.
            pub const LENGTH: RangeInclusive<usize> = $range;
        }
    };
}

/// NUL is the only character that PostgreSQL's `text` cannot hold.
fn is_bounded(text: &str, length: &RangeInclusive<usize>) -> bool {
    length.contains(&text.chars().count()) && !text.contains('\0')
}

bounded_text!(
    /// A display name: of a user, a guild, a team role or a category.
    Name,
    "name",
    1..=256,
    "text of 1 to 256 characters without NUL"
);
bounded_text!(
    /// The text of feedback. May be empty, since a rating needs no text.
    Prose,
    "feedback",
    0..=4000,
    "text of at most 4000 characters without NUL"
);

bounded_text!(
    /// The name of a channel or a role.
    Label,
    "name",
    0..=100,
    "text of at most 100 characters without NUL"
);
bounded_text!(
    /// A title that people read on a form: of a section, a field or a choice.
    Title,
    "title",
    1..=80,
    "text of 1 to 80 characters without NUL"
);
bounded_text!(
    /// A sentence or two below a title.
    Description,
    "description",
    0..=400,
    "text of at most 400 characters without NUL"
);

bounded_text!(
    /// The title of a notice.
    Headline,
    "title",
    1..=120,
    "text of 1 to 120 characters without NUL"
);
bounded_text!(
    /// The text of a notice. May be empty.
    NoticeText,
    "text",
    0..=2000,
    "text of at most 2000 characters without NUL"
);

checked_text!(
    /// A colour in the form `#RRGGBB`, in its original letter case.
    Colour,
    "color",
    "# and six hexadecimal digits, like #1ABC9C",
    |text| {
        let digits = text.strip_prefix('#').filter(|digits| digits.len() == 6);
        digits.is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))
    }
);

checked_text!(
    /// The `User-Agent` header at the sign-in. It is only displayed; no decision depends on it. Sessions are cloned often.
    UserAgent(Arc<str>),
    "user_agent",
    "text of 1 to 256 characters without control characters",
    |text| (1..=Self::MAX).contains(&text.chars().count()) && !text.chars().any(char::is_control)
);

impl UserAgent {
    /// Maximum number of characters.
    pub const MAX: usize = 256;

    /// Returns a header value without control characters, truncated to the maximum. `None` if it is empty then.
    #[must_use]
    pub fn sent(text: &str) -> Option<Self> {
        let kept: String =
            text.trim().chars().filter(|letter| !letter.is_control()).take(Self::MAX).collect();
        (!kept.is_empty()).then(|| Self(kept.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_characters_and_rejects_nul() {
        for text in ["x", "Zoë 🦊", &"é".repeat(256)] {
            assert_eq!(text.parse::<Name>().unwrap().to_string(), text);
        }
        for text in ["", "a\0b", &"é".repeat(257)] {
            assert_eq!(text.parse::<Name>().unwrap_err().field, "name", "{text:?}");
        }
        assert_eq!("".parse::<Prose>().unwrap().as_str(), "");
        assert!("é".repeat(4000).parse::<Prose>().is_ok());
        for text in ["a\0b", &"é".repeat(4001)] {
            assert_eq!(text.parse::<Prose>().unwrap_err().field, "feedback");
        }
    }

    #[test]
    fn parses_a_hash_and_six_hexadecimal_digits() {
        for text in ["#1ABC9C", "#ffffff", "#00aAfF"] {
            assert_eq!(text.parse::<Colour>().unwrap().as_str(), text);
        }
        for text in ["", "#", "#12345", "#1234567", "123456", "#12345g", "red", "#éab", "##12345"] {
            assert_eq!(text.parse::<Colour>().unwrap_err().field, "color", "{text:?}");
        }
    }

    #[test]
    fn truncates_and_strips_control_characters() {
        let sent = |text: &str| UserAgent::sent(text).map(|agent| agent.to_string());
        assert_eq!(sent(" Mozilla/5.0 (X11)\t").as_deref(), Some("Mozilla/5.0 (X11)"));
        assert_eq!(sent("a\0b\x1b[0mc").as_deref(), Some("ab[0mc"));
        assert_eq!(sent(&"é".repeat(300)), Some("é".repeat(256)));
        assert_eq!((sent(""), sent(" \r\n")), (None, None));
        assert_eq!("é".repeat(256).parse::<UserAgent>().unwrap(), UserAgent::sent(&"é".repeat(300)).unwrap());
        for refused in ["", "a\nb", &"é".repeat(257)] {
            assert_eq!(refused.parse::<UserAgent>().unwrap_err().field, "user_agent", "{refused:?}");
        }
    }
}
