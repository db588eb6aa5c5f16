//! Colours of team roles.

use super::Invalid;
use crate::named::plain_text;
use std::{fmt, str::FromStr};

/// A colour in the form `#RRGGBB`, in its original letter case.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Colour(Box<str>);

plain_text!(Colour);

impl FromStr for Colour {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let digits = text.strip_prefix('#').filter(|digits| digits.len() == 6);
        if digits.is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit())) {
            Ok(Self(text.into()))
        } else {
            Err(Invalid::new("color", "# and six hexadecimal digits, like #1ABC9C"))
        }
    }
}

impl fmt::Debug for Colour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_a_hash_and_six_hexadecimal_digits() {
        for text in ["#1ABC9C", "#ffffff", "#00aAfF"] {
            let colour: Colour = text.parse().unwrap();
            assert_eq!([colour.as_str(), &colour.to_string(), &format!("{colour:?}")], [text; 3]);
        }
        for text in ["", "#", "#12345", "#1234567", "123456", "#12345g", "red", "#éab", "##12345"] {
            assert_eq!(text.parse::<Colour>().unwrap_err().field, "color", "{text:?}");
        }
    }
}
