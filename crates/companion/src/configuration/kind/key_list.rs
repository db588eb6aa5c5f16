//! Secrets, one or several of them.

use crate::configuration::{
    mistake::Refusal,
    raw::Raw,
    setting::{Setting, text_like},
};
use companion_domain::model::{Secret, SecretKey};
use serde_json::{Value, json};

/// What is shown in place of a secret.
const SET: &str = "(set)";

impl Setting for Secret {
    const SECRET: bool = true;

    fn read(raw: &Raw) -> Result<Self, Refusal> {
        let text = raw.text()?;
        // The platform chooses its secrets, so any character may be in one; a control character is a slip.
        if text.is_empty() || text.chars().any(char::is_control) {
            return Err(Refusal::must_be("text on one line"));
        }
        Ok(Self::new(text.to_owned()))
    }

    fn schema() -> Value {
        text_like(".")
    }

    fn show(&self) -> String {
        SET.to_owned()
    }
}

impl Setting for SecretKey {
    const SECRET: bool = true;

    fn read(raw: &Raw) -> Result<Self, Refusal> {
        Ok(raw.text()?.parse()?)
    }

    fn schema() -> Value {
        text_like(".")
    }

    fn show(&self) -> String {
        SET.to_owned()
    }
}

/// A secret, or a list with at least one.
#[derive(Debug, Clone)]
pub struct OneOrMore<T> {
    /// The one that is used where one must be chosen.
    pub first: T,
    /// Those that are accepted besides, such as keys that are being replaced.
    pub others: Vec<T>,
}

/// A key that opens the management API. It travels in a header, so it is printable and has no spaces; and it is too long to
/// be guessed.
#[derive(Debug, Clone)]
pub struct ManagementKey(pub Secret);

impl ManagementKey {
    /// The shortest that is accepted, in characters.
    const SHORTEST: usize = 16;

    /// This text as a key.
    pub fn new(text: &str) -> Result<Self, Refusal> {
        if text.len() >= Self::SHORTEST && text.bytes().all(|b| b.is_ascii_graphic()) {
            return Ok(Self(Secret::new(text.to_owned())));
        }
        Err(Refusal::must_be(format_args!(
            "{} or more printable characters without spaces, like the output of: openssl rand -base64 32",
            Self::SHORTEST
        )))
    }
}

impl Setting for ManagementKey {
    const SECRET: bool = true;

    fn read(raw: &Raw) -> Result<Self, Refusal> {
        Self::new(raw.text()?)
    }

    fn schema() -> Value {
        text_like("^[!-~]{16,}$")
    }

    fn show(&self) -> String {
        SET.to_owned()
    }
}

/// The keys that open the management API.
pub type ManagementKeys = OneOrMore<ManagementKey>;

/// The keys that sign and seal: the first does, all of them verify and open.
pub type Keyring = OneOrMore<SecretKey>;

impl<T: Setting> Setting for OneOrMore<T> {
    const SECRET: bool = true;

    fn read(raw: &Raw) -> Result<Self, Refusal> {
        // A bracket begins no base64 and no sensible key, so in the environment it begins a list.
        let is_list = match raw {
            Raw::List(_) => true,
            Raw::Word(word) => word.trim_start().starts_with('['),
            Raw::Text(_) | Raw::Integer(_) | Raw::Boolean(_) | Raw::Table(_) | Raw::Foreign => false,
        };
        if !is_list {
            return T::read(raw).map(|first| Self { first, others: Vec::new() });
        }
        let mut keys = Vec::<T>::read(raw)?.into_iter();
        let first = keys.next().ok_or_else(|| Refusal::new("must not be an empty list"))?;
        Ok(Self { first, others: keys.collect() })
    }

    fn schema() -> Value {
        json!({"anyOf": [T::schema(), {"type": "array", "items": T::schema(), "minItems": 1}]})
    }

    fn show(&self) -> String {
        match self.others.len() {
            0 => SET.to_owned(),
            others => format!("(set, {} keys)", others + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";

    #[test]
    fn one_key_or_a_list_of_them() {
        let list = format!("[\"{KEY}\", \"{KEY}\"]");
        for (raw, others) in [
            (Raw::Text(KEY.to_owned()), 0),
            (Raw::Word(KEY.to_owned()), 0),
            (Raw::Word(list.clone()), 1),
            (Raw::from_toml(&list).unwrap(), 1),
        ] {
            assert_eq!(Keyring::read(&raw).unwrap().others.len(), others);
        }
    }

    #[test]
    fn a_wrong_key_is_not_repeated() {
        for raw in [Raw::Text("c2VjcmV0".into()), Raw::Word("[\"c2VjcmV0\"]".into())] {
            let refusal = Keyring::read(&raw).unwrap_err().to_string();
            assert!(refusal.contains("the base64 of exactly 32 random bytes"), "{refusal}");
            assert!(!refusal.contains("c2VjcmV0"), "{refusal}");
        }
    }

    #[test]
    fn a_secret_of_the_platform_may_hold_any_character() {
        let odd = "p@ss: wörd/+=%&";
        assert_eq!(Secret::read(&Raw::Word(odd.into())).unwrap().expose(), odd);
        assert!(Secret::read(&Raw::Word(String::new())).is_err());
    }

    #[test]
    fn no_key_at_all_is_refused() {
        assert!(Keyring::read(&Raw::List(vec![])).is_err());
        assert!(ManagementKeys::read(&Raw::Word(String::new())).is_err());
        assert!(ManagementKeys::read(&Raw::Word("two words of some length".into())).is_err());
    }

    #[test]
    fn a_management_key_that_can_be_guessed_is_refused() {
        let (short, enough) = ("fifteen-letters", "sixteen--letters");
        for raw in [Raw::Text(short.into()), Raw::Word(format!("[\"{enough}\", \"{short}\"]"))] {
            let refusal = ManagementKeys::read(&raw).unwrap_err().to_string();
            assert!(refusal.contains("must be 16 or more printable characters"), "{refusal}");
            assert!(refusal.contains("openssl rand -base64 32"), "{refusal}");
            assert!(!refusal.contains(short), "{refusal}");
        }
        assert!(ManagementKeys::read(&Raw::Word(format!("[\"{enough}\", \"{enough}\"]"))).is_ok());
    }
}
