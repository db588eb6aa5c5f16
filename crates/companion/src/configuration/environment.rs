//! The environment layer.

use super::{
    error::{KeyError, Source, known_names, nearest_key},
    keys::{FILE_SUFFIX, KEYS, Key, PREFIX, SEPARATOR},
    raw::{Raw, Reader},
};
use std::{ffi::OsString, fmt, iter, path::PathBuf};

/// Environment variables: name and value.
pub type Variables = Vec<(OsString, OsString)>;

/// Reads every variable with our prefix and a path. Ignores others, such as `COMPANION_BUILD_SHA`.
pub(super) fn read(variables: &Variables, reader: &mut Reader) {
    let mut ours: Vec<_> = variables
        .iter()
        .filter_map(|(name, value)| Some((name.to_str()?, value)))
        .filter(|(name, _)| name.strip_prefix(PREFIX).is_some_and(|rest| rest.contains(SEPARATOR)))
        .collect();
    ours.sort();
    for (name, value) in ours {
        match given(name, value, variables) {
            Ok((key, source, raw)) => reader.add(key, source, raw),
            Err(error) => reader.errors.push(error),
        }
    }
}

/// An ignored variable whose name nearly matches one that is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadVariable {
    /// The name in the environment.
    pub name: String,
    /// The name that is read.
    pub meant: String,
}

impl fmt::Display for UnreadVariable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is set, but not read: did you mean {}?", self.name, self.meant)
    }
}

/// Returns variables that differ from ours only in underscores or letter case.
pub(super) fn unread(variables: &Variables) -> Vec<UnreadVariable> {
    let read: Vec<_> =
        KEYS.iter().flat_map(|key| iter::once(key.variable()).chain(key.file_variable())).collect();
    let mut unread: Vec<_> = variables
        .iter()
        .filter_map(|(name, _)| name.to_str())
        .filter_map(|name| {
            let meant = read.iter().find(|known| normalized(known) == normalized(name))?;
            (meant != name).then(|| UnreadVariable { name: name.to_owned(), meant: meant.clone() })
        })
        .collect();
    unread.sort_by(|a, b| a.name.cmp(&b.name));
    unread
}

/// Normalizes a name: upper case, without underscores.
fn normalized(name: &str) -> String {
    name.to_ascii_uppercase().replace('_', "")
}

/// A value of a key.
type Given = (&'static Key, Source, Raw);

fn given(name: &str, value: &OsString, variables: &Variables) -> Result<Given, KeyError> {
    let source = Source::Variable(name.to_owned());
    let named = |name: &str| KEYS.iter().find(|key| key.variable() == name);
    let (key, problem, fix) = match (named(name), name.strip_suffix(FILE_SUFFIX).and_then(named)) {
        (Some(key), _) => match value.to_str() {
            Some(text) => return Ok((key, source, Raw::Word(text.to_owned()))),
            None => (name.to_owned(), "is not valid UTF-8", "set it to plain text".to_owned()),
        },
        (None, Some(key)) if key.secret => return secret(key, name, value, variables),
        (None, Some(key)) => (
            key.path.to_owned(),
            "is no secret, and only secrets are read from files",
            format!("set {} itself", key.variable()),
        ),
        (None, None) => {
            let path = name.strip_prefix(PREFIX).unwrap_or(name).to_ascii_lowercase().replace(SEPARATOR, ".");
            let fix = match nearest_key(&path) {
                Some(key) => format!("did you mean {}, which is {}?", key.path, key.variable()),
                None => known_names(&path),
            };
            (path, "there is no such key", fix)
        }
    };
    Err(KeyError { source, key, problem: problem.to_owned(), fix })
}

/// Reads a secret from the file that a variable names. Drops one trailing line break, which text editors add.
fn secret(key: &'static Key, name: &str, path: &OsString, variables: &Variables) -> Result<Given, KeyError> {
    let path = PathBuf::from(path);
    let source = Source::SecretFile(name.to_owned(), path.clone());
    let key_error = |problem: String, fix: String| KeyError {
        source: source.clone(),
        key: key.path.to_owned(),
        problem,
        fix,
    };
    let variable = key.variable();
    if variables.iter().any(|(other, _)| *other == *variable) {
        return Err(key_error(
            format!("is set twice, by {variable} too"),
            format!("unset {variable} or {name}"),
        ));
    }
    let text = std::fs::read_to_string(&path).map_err(|error| {
        key_error(
            format!("cannot be read from its file: {error}"),
            format!("let {name} name a readable file"),
        )
    })?;
    let text = text.strip_suffix('\n').map_or(text.as_str(), |line| line.strip_suffix('\r').unwrap_or(line));
    Ok((key, source, Raw::Word(text.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::configuration::tests::Given;

    #[test]
    fn ignores_variables_without_two_underscores() {
        let given = Given::nothing()
            .with("COMPANION_BUILD_SHA", "x")
            .with("COMPANION_HTTP", "x")
            .with("OTHER__KEY", "x")
            .with("companion_http__listen", "x");
        assert_eq!(given.configuration().http.listen.port, 8080);
    }

    #[test]
    fn reports_variables_that_nearly_match() {
        let unread = |name: &str| Given::nothing().with(name, "x").loaded().unread;
        for (name, meant) in [
            ("COMPANION_HTTP_LISTEN", "COMPANION_HTTP__LISTEN"),
            ("COMPANION_LIMITS_CONNECTIONS_PER_ADDRESS", "COMPANION_LIMITS__CONNECTIONS_PER_ADDRESS"),
            ("companion_storage__url", "COMPANION_STORAGE__URL"),
            ("COMPANION_MANAGEMENT_KEY_FILE", "COMPANION_MANAGEMENT__KEY_FILE"),
        ] {
            let [named] = unread(name).try_into().unwrap();
            assert_eq!(named.to_string(), format!("{name} is set, but not read: did you mean {meant}?"));
        }
        for name in ["COMPANION_BUILD_SHA", "COMPANION_TEST_POSTGRES", "HTTP_LISTEN", "PATH"] {
            assert_eq!(unread(name), [], "{name}");
        }
        assert_eq!(Given::nothing().with("COMPANION_HTTP__LISTEN", "h:1").loaded().unread, []);
    }

    #[test]
    fn keeps_text_that_looks_like_another_type() {
        for text in ["123456", "true", "1e5", "0x10", "[1]"] {
            let identity =
                Given::nothing().with("COMPANION_IDENTITY__CLIENT_ID", text).configuration().identity;
            assert_eq!(identity.client_id.unwrap().as_str(), text);
        }
    }

    #[test]
    fn parses_numbers_and_booleans_of_variables() {
        let given = Given::nothing()
            .with("COMPANION_SESSIONS__PER_USER", "3")
            .with("COMPANION_HTTP__SIGN_OUT", "true");
        let configuration = given.configuration();
        assert_eq!(configuration.sessions.per_user.get(), 3);
        assert!(configuration.http.sign_out);
    }

    #[test]
    fn parses_lists_and_tables_as_inline_toml_or_json() {
        for list in
            ["['https://a.example', 'https://b.example']", r#"["https://a.example","https://b.example"]"#]
        {
            let http = Given::nothing().with("COMPANION_HTTP__ALLOWED_ORIGINS", list).configuration().http;
            assert_eq!(http.allowed_origins.len(), 2, "{list}");
        }
        for table in [
            "{ default = 'https://a.example/b', 'https://c.example' = 'https://c.example/b' }",
            r#"{"default": "https://a.example/b", "https://c.example": "https://c.example/b"}"#,
        ] {
            let identity =
                Given::nothing().with("COMPANION_IDENTITY__REDIRECT_URI", table).configuration().identity;
            assert_eq!(identity.redirect_uri.unwrap().by_origin.len(), 1, "{table}");
        }
    }

    #[test]
    fn reads_a_secret_file_without_its_last_line_break() {
        for (text, secret) in [("hunter2\n", "hunter2"), ("hunter2\r\n", "hunter2"), ("hunter2", "hunter2")] {
            let given = Given::nothing();
            let path = given.write("secret", text);
            let given = given.with("COMPANION_IDENTITY__CLIENT_SECRET_FILE", path.to_str().unwrap());
            assert_eq!(given.configuration().identity.client_secret.unwrap().expose(), secret);
            let (source, shown) = given.effective("identity.client_secret");
            assert_eq!(source, Source::SecretFile("COMPANION_IDENTITY__CLIENT_SECRET_FILE".into(), path));
            assert_eq!(shown, "(set)");
        }
    }

    #[test]
    fn reads_only_secrets_from_files() {
        let error = Given::nothing().with("COMPANION_HTTP__LISTEN_FILE", "/nowhere").error();
        assert!(error.problem.contains("only secrets are read from files"), "{error}");
        assert!(error.fix.contains("COMPANION_HTTP__LISTEN "), "{error}");
    }

    #[test]
    fn refuses_a_secret_and_its_file_together() {
        let given = Given::nothing();
        let path = given.write("secret", "hunter2");
        let given = given
            .with("COMPANION_MANAGEMENT__KEY", "hunter3-hunter3-3")
            .with("COMPANION_MANAGEMENT__KEY_FILE", path.to_str().unwrap());
        let error = given.error();
        assert_eq!(error.key, "management.key");
        assert!(error.problem.contains("is set twice, by COMPANION_MANAGEMENT__KEY too"), "{error}");
    }

    #[test]
    fn reports_the_name_of_a_missing_secret_file() {
        let error = Given::nothing().with("COMPANION_SECRETS__KEY_FILE", "/nowhere/key").error();
        assert_eq!(error.key, "secrets.key");
        assert!(error.to_string().contains("/nowhere/key"), "{error}");
    }

    #[test]
    fn an_empty_variable_counts_as_set() {
        let error = Given::nothing().with("COMPANION_IDENTITY__CLIENT_SECRET", "").error();
        assert_eq!(error.key, "identity.client_secret");
    }

    #[test]
    fn refuses_variables_that_are_not_utf_8() {
        use std::os::unix::ffi::OsStringExt as _;
        let mut given = Given::nothing();
        let value = std::ffi::OsString::from_vec(vec![0xff]);
        given.layers.environment.push(("COMPANION_HTTP__LISTEN".into(), value));
        assert!(given.error().problem.contains("UTF-8"));
    }

    #[test]
    fn suggests_the_nearest_key_for_an_unknown_variable() {
        for (variable, nearest) in [
            ("COMPANION_STORAGE__URI", "COMPANION_STORAGE__URL"),
            ("COMPANION_storage__url", "COMPANION_STORAGE__URL"),
            ("COMPANION__HTTP__LISTEN", "COMPANION_HTTP__LISTEN"),
            ("COMPANION_IDENTITY__REDIRECT_URI__DEFAULT", "COMPANION_IDENTITY__REDIRECT_URI"),
            ("COMPANION_IDENTITY__CLIENT_SECRETS_FILE", "COMPANION_IDENTITY__CLIENT_SECRET"),
        ] {
            let error = Given::nothing().with(variable, "x").error();
            assert!(error.to_string().contains(variable), "{error}");
            assert!(error.fix.ends_with(&format!("which is {nearest}?")), "{error}");
        }
    }
}
