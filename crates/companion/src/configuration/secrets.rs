//! Secrets: single ones, lists, and named keys for scopes of the management API.

use super::{
    environment::without_line_break,
    error::{ValueError, most_similar},
    files::open_regular,
    setting::{Setting, entries, fields, quoted, text},
};
use companion_domain::model::{Secret, SecretKey, WebUrl};
use companion_http::KeyName;
use companion_management::Scope;
use serde_json::json;
use std::{collections::BTreeSet, io, path::PathBuf};
use toml::Value;

impl Setting for Secret {
    const SECRET: bool = true;

    fn read(value: &Value) -> Result<Self, ValueError> {
        let text = text(value)?;
        // The platform chooses its secrets, so any printable character is allowed; a control character is a mistake.
        if text.is_empty() || text.chars().any(char::is_control) {
            return Err(ValueError::must_be("text on one line"));
        }
        Ok(Self::new(text.to_owned()))
    }
}

/// A URL that grants access, such as a webhook.
#[derive(Debug, Clone)]
pub struct SecretUrl(pub Secret);

impl Setting for SecretUrl {
    const SECRET: bool = true;
    const PATTERN: &str = "^https?://";

    fn read(value: &Value) -> Result<Self, ValueError> {
        let url: WebUrl = text(value)?.parse()?;
        Ok(Self(Secret::new(url.as_str().to_owned())))
    }
}

impl Setting for SecretKey {
    const SECRET: bool = true;

    fn read(value: &Value) -> Result<Self, ValueError> {
        Ok(text(value)?.parse()?)
    }
}

/// A secret, or a non-empty list of secrets.
#[derive(Debug, Clone)]
pub struct OneOrMore<T> {
    /// The one that is used for signing and sealing.
    pub first: T,
    /// Also accepted, such as keys that are being replaced.
    pub others: Vec<T>,
}

/// A key of the management API. It is sent in a header, so it is printable without spaces. Its minimum length makes it
/// hard to guess.
#[derive(Debug, Clone)]
pub struct ManagementKey(pub Secret);

impl ManagementKey {
    /// Minimum length, in characters.
    const MIN_LENGTH: usize = 16;

    /// Parses a key.
    pub fn new(text: &str) -> Result<Self, ValueError> {
        // One that starts with a bracket is a list that has lost its quotes.
        let is_single = !text.starts_with('[');
        if is_single && text.len() >= Self::MIN_LENGTH && text.bytes().all(|b| b.is_ascii_graphic()) {
            return Ok(Self(Secret::new(text.to_owned())));
        }
        Err(ValueError::must_be(format_args!(
            "{} or more printable characters without spaces, like the output of: openssl rand -base64 32",
            Self::MIN_LENGTH
        )))
    }
}

impl Setting for ManagementKey {
    const SECRET: bool = true;
    const PATTERN: &str = "^[!-Z\\\\-~][!-~]{15,}$";

    fn read(value: &Value) -> Result<Self, ValueError> {
        Self::new(text(value)?)
    }
}

/// The keys with full access to the management API.
pub type ManagementKeys = OneOrMore<ManagementKey>;

/// The keys that sign and seal. The first does; all of them verify and open.
pub type Keyring = OneOrMore<SecretKey>;

impl<T> OneOrMore<T> {
    /// Returns all of them.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        std::iter::once(&self.first).chain(&self.others)
    }
}

impl<T: Setting> Setting for OneOrMore<T> {
    const SECRET: bool = true;

    fn read(value: &Value) -> Result<Self, ValueError> {
        if !value.is_array() {
            return T::read(value).map(|first| Self { first, others: Vec::new() });
        }
        let mut keys = Vec::<T>::read(value)?.into_iter();
        let first = keys.next().ok_or_else(|| ValueError::new("must not be an empty list"))?;
        Ok(Self { first, others: keys.collect() })
    }

    fn schema() -> serde_json::Value {
        json!({"anyOf": [T::schema(), {"type": "array", "items": T::schema(), "minItems": 1}]})
    }

    fn show(&self, _: &Value) -> String {
        match self.others.len() {
            0 => "(set)".to_owned(),
            others => format!("(set, {} keys)", others + 1),
        }
    }
}

/// The entries of `management.keys`.
#[derive(Debug, Clone, Default)]
pub struct ScopedKeys(pub Vec<ScopedKey>);

impl ScopedKeys {
    /// Returns the entries whose key is in a file.
    #[must_use]
    pub fn in_files(&self) -> Vec<ScopedKey> {
        let in_file = |key: &&ScopedKey| matches!(key.source, KeySource::File(_));
        self.0.iter().filter(in_file).cloned().collect()
    }
}

/// A named key with scopes.
#[derive(Debug, Clone)]
pub struct ScopedKey {
    /// Its name in the audit log.
    pub name: KeyName,
    /// The key, or the file that holds it.
    pub source: KeySource,
    /// Its scopes; at least one.
    pub scopes: BTreeSet<Scope>,
}

/// The location of a key.
#[derive(Debug, Clone)]
pub enum KeySource {
    /// In the configuration itself.
    Written(ManagementKey),
    /// In a file, which may be replaced while the service runs.
    File(PathBuf),
}

const KEY: &str = "key";
const KEY_FILE: &str = "key_file";
const SCOPES: &str = "scopes";
/// Longer than any key, and much shorter than most files named by mistake.
const MAX_KEY_FILE_BYTES: u64 = 64 * 1024;

impl KeySource {
    /// Returns the current key.
    pub fn read(&self) -> Result<ManagementKey, ValueError> {
        let path = match self {
            Self::Written(key) => return Ok(key.clone()),
            Self::File(path) => path,
        };
        let unread = |why: &dyn std::fmt::Display| {
            ValueError::new(format!("{KEY_FILE} {} cannot be read: {why}", path.display()))
        };
        let file = open_regular(path).map_err(|error| unread(&error))?;
        if file.metadata().map_err(|error| unread(&error))?.len() > MAX_KEY_FILE_BYTES {
            return Err(unread(&"it is too long to be a key"));
        }
        let text = io::read_to_string(file).map_err(|error| unread(&error))?;
        ManagementKey::new(without_line_break(&text))
            .map_err(|error| ValueError::new(format!("{KEY_FILE} {}: its content {error}", path.display())))
    }
}

impl ScopedKey {
    fn read(name: &str, value: &Value) -> Result<Self, ValueError> {
        let name: KeyName = name.parse().map_err(|_| {
            ValueError::new("must have a name of 1 to 64 characters out of A-Z, a-z, 0-9, _ and -")
        })?;
        let fields = fields(value, "a table with key and scopes", [KEY, KEY_FILE, SCOPES])?;
        let source = match fields {
            [Some(_), Some(_), _] => return Err(ValueError::new("must have key or key_file, and has both")),
            [None, None, _] => return Err(ValueError::new("must have key or key_file")),
            [Some(key), None, _] => {
                ManagementKey::read(key).map(KeySource::Written).map_err(|error| error.within(KEY))?
            }
            [None, Some(file), _] => {
                PathBuf::read(file).map(KeySource::File).map_err(|error| error.within(KEY_FILE))?
            }
        };
        let [.., scopes] = fields;
        let lacking = || ValueError::new(format!("must have scopes, out of {}", all_scopes()));
        let scopes = read_scopes(scopes.ok_or_else(lacking)?).map_err(|error| error.within(SCOPES))?;
        Ok(Self { name, source, scopes })
    }
}

fn read_scopes(value: &Value) -> Result<BTreeSet<Scope>, ValueError> {
    let items = value.as_array().ok_or_else(|| ValueError::must_be("a list, in square brackets"))?;
    let scopes = items.iter().map(|item| {
        let name = text(item)?;
        Scope::ALL.into_iter().find(|scope| scope.name() == name).ok_or_else(|| {
            let meant = most_similar(name, Scope::ALL.map(Scope::name).into_iter());
            ValueError::new(format!("has the unknown scope {}; did you mean {meant}?", quoted(&name)))
        })
    });
    let scopes: BTreeSet<_> = scopes.collect::<Result<_, _>>()?;
    if scopes.is_empty() {
        return Err(ValueError::new(format!("must not be empty; there are {}", all_scopes())));
    }
    Ok(scopes)
}

fn all_scopes() -> String {
    Scope::ALL.map(Scope::name).join(", ")
}

impl Setting for ScopedKeys {
    const SECRET: bool = true;

    fn read(value: &Value) -> Result<Self, ValueError> {
        entries(value, "a table from a name to a key and its scopes", ScopedKey::read).map(Self)
    }

    fn show(&self, value: &Value) -> String {
        let mut shown = value.clone();
        for (_, entry) in shown.as_table_mut().into_iter().flatten() {
            if let Some(key) = entry.get_mut(KEY) {
                *key = "(set)".into();
            }
        }
        shown.to_string()
    }

    fn schema() -> serde_json::Value {
        json!({"type": "object"})
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, Mode, mkfifoat};
    use std::fs;

    const RANDOM: &str = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";

    #[test]
    fn accepts_one_key_or_a_list() {
        for (value, others) in
            [(Value::from(RANDOM), 0), (Value::from(vec![RANDOM]), 0), (Value::from(vec![RANDOM, RANDOM]), 1)]
        {
            assert_eq!(Keyring::read(&value).unwrap().others.len(), others);
        }
    }

    #[test]
    fn accepts_any_printable_character_in_a_client_secret() {
        let odd = "p@ss: wörd/+=%&";
        assert_eq!(Secret::read(&odd.into()).unwrap().expose(), odd);
    }

    #[test]
    fn refuses_malformed_keys_without_repeating_them() {
        fn error<T: Setting>(toml: &str) -> String {
            T::read(&toml.parse().unwrap()).err().unwrap().to_string()
        }
        assert_eq!(error::<Keyring>("[]"), "must not be an empty list");
        for toml in ["'c2VjcmV0'", "['c2VjcmV0']"] {
            let error = error::<Keyring>(toml);
            assert!(error.contains("the base64 of exactly 32 random bytes"), "{error}");
            assert!(!error.contains("c2VjcmV0"), "{error}");
        }
        let unquoted = "'[sixteen--letters,sixteen--letters]'";
        for toml in ["''", "'two words of some length'", "['sixteen--letters', 'fifteen-letters']", unquoted]
        {
            let error = error::<ManagementKeys>(toml);
            assert!(error.contains("must be 16 or more printable characters without spaces"), "{error}");
            assert!(error.ends_with("openssl rand -base64 32"), "{error}");
        }
    }

    const LONG: &str = "sixteen--letters";

    fn read(toml: &str) -> Result<ScopedKeys, String> {
        ScopedKeys::read(&toml.parse().unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn shows_scoped_keys_without_their_values() {
        let toml = format!(
            r#"{{ bot = {{ key = "{LONG}", scopes = ["feed", "people"] }}, m = {{ key_file = "m.key", scopes = ["metrics"] }} }}"#
        );
        let keys = read(&toml).unwrap();
        assert_eq!(keys.show(&toml.parse().unwrap()), toml.replace(LONG, "(set)"));
        assert!(!format!("{keys:?}").contains(LONG), "{keys:?}");
        assert!(read("{}").unwrap().0.is_empty());
    }

    #[test]
    fn reports_an_invalid_scoped_key_without_its_value() {
        let scopes = r#"scopes = ["feed"]"#;
        for (entry, said) in [
            (
                format!(r#"key = "{LONG}", scopes = ["fed"]"#),
                "scopes has the unknown scope \"fed\"; did you mean feed?",
            ),
            (
                format!(r#"key = "{LONG}", scopes = []"#),
                "scopes must not be empty; there are feed, people, metrics",
            ),
            (format!(r#"key = "{LONG}""#), "must have scopes, out of feed, people, metrics"),
            (
                format!(r#"key = "{LONG}", key_file = "f", {scopes}"#),
                "must have key or key_file, and has both",
            ),
            (scopes.to_owned(), "must have key or key_file"),
            (format!(r#"key = "short", {scopes}"#), "key must be 16 or more printable characters"),
            (format!(r#"key_file = "", {scopes}"#), "key_file must be the path of a file"),
            (format!(r#"key = "{LONG}", scope = ["feed"]"#), "has no scope; did you mean scopes?"),
        ] {
            let error = read(&format!("{{ bot = {{ {entry} }} }}")).unwrap_err();
            assert!(error.starts_with("entry \"bot\" "), "{error}");
            assert!(error.contains(said), "{entry}: {error}");
            assert!(!error.contains(LONG) && !error.contains("short"), "{error}");
        }
        let unnamed = read(&format!(r#"{{ "a b" = {{ key = "{LONG}", {scopes} }} }}"#)).unwrap_err();
        assert!(unnamed.contains("entry \"a b\" must have a name of 1 to 64 characters"), "{unnamed}");
        assert!(read("[]").unwrap_err().contains("must be a table"), "{:?}", read("[]"));
    }

    #[test]
    fn rereads_key_files_and_reports_invalid_ones() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bot.key");
        let source = KeySource::File(path.clone());
        let refused = |said: &str| {
            let error = source.read().unwrap_err().to_string();
            assert!(error.contains(&*path.to_string_lossy()) && error.contains(said), "{error}");
        };
        refused("cannot be read");
        for (content, said) in
            [("", "16 or more"), ("short\n", "16 or more"), ("two words of some length\n", "without spaces")]
        {
            fs::write(&path, content).unwrap();
            refused(said);
        }
        fs::remove_file(&path).unwrap();
        mkfifoat(CWD, &path, Mode::RUSR | Mode::WUSR).unwrap();
        refused("it is not a regular file");
        fs::remove_file(&path).unwrap();
        fs::write(&path, "x".repeat(70_000)).unwrap();
        refused("too long");
        for ending in ["", "\n", "\r\n"] {
            fs::write(&path, format!("{LONG}{ending}")).unwrap();
            assert_eq!(source.read().unwrap().0.expose(), LONG);
        }
    }
}
