//! Bounded text that every database and every page can represent.

use crate::named::checked_text;
use std::ops::RangeInclusive;

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
}
