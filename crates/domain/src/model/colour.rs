//! Colours of team roles.

use crate::named::checked_text;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_a_hash_and_six_hexadecimal_digits() {
        for text in ["#1ABC9C", "#ffffff", "#00aAfF"] {
            assert_eq!(text.parse::<Colour>().unwrap().as_str(), text);
        }
        for text in ["", "#", "#12345", "#1234567", "123456", "#12345g", "red", "#éab", "##12345"] {
            assert_eq!(text.parse::<Colour>().unwrap_err().field, "color", "{text:?}");
        }
    }
}
