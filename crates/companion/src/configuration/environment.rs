//! The environment layer.

use super::{
    error::{KeyError, Source, known_names, nearest_key},
    keys::{FILE_SUFFIX, KEYS, Key, PREFIX, SEPARATOR},
    reader::Reader,
};
use std::{ffi::OsString, iter, path::PathBuf};

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
            Ok((key, source, value)) => reader.add(key, source, value),
            Err(error) => reader.errors.push(error),
        }
    }
}

/// Warns of variables that differ from ours only in underscores or letter case.
pub(super) fn unread(variables: &Variables) -> Vec<KeyError> {
    let normalized = |name: &str| name.to_ascii_uppercase().replace('_', "");
    let names = |key: &'static Key| iter::once(key.variable()).chain(key.file_variable());
    let read: Vec<_> = KEYS.iter().flat_map(|key| names(key).map(move |name| (key, name))).collect();
    let warning = |name: &str| {
        let (key, meant) = read.iter().find(|(_, known)| normalized(known) == normalized(name))?;
        let (source, problem) = (Source::Variable(name.to_owned()), "is set, but not read");
        (meant != name).then(|| KeyError::at(source, key.path, problem, format!("did you mean {meant}?")))
    };
    let names = variables.iter().filter_map(|(name, _)| name.to_str());
    let mut unread: Vec<_> = names.filter_map(warning).collect();
    unread.sort_by(|a, b| a.source.cmp(&b.source));
    unread
}

/// A value of a key.
type Given = (&'static Key, Source, toml::Value);

fn given(name: &str, value: &OsString, variables: &Variables) -> Result<Given, KeyError> {
    let source = Source::Variable(name.to_owned());
    let named = |name: &str| KEYS.iter().find(|key| key.variable() == name);
    match (named(name), name.strip_suffix(FILE_SUFFIX).and_then(named)) {
        (Some(key), _) => match value.to_str() {
            Some(text) => Ok((key, source, key.value_of(text))),
            None => Err(KeyError::at(source, name, "is not valid UTF-8", "set it to plain text")),
        },
        (None, Some(key)) if key.secret => secret(key, name, value, variables),
        (None, Some(key)) => Err(KeyError::at(
            source,
            key.path,
            "is no secret, and only secrets are read from files",
            format!("set {} itself", key.variable()),
        )),
        (None, None) => {
            let path = name.strip_prefix(PREFIX).unwrap_or(name).to_ascii_lowercase().replace(SEPARATOR, ".");
            let fix = match nearest_key(&path) {
                Some(key) => format!("did you mean {}, which is {}?", key.path, key.variable()),
                None => known_names(&path),
            };
            Err(KeyError::at(source, &path, "there is no such key", fix))
        }
    }
}

/// Reads a secret from the file that a variable names.
fn secret(key: &'static Key, name: &str, path: &OsString, variables: &Variables) -> Result<Given, KeyError> {
    let path = PathBuf::from(path);
    let source = Source::SecretFile(name.to_owned(), path.clone());
    let variable = key.variable();
    if variables.iter().any(|(other, _)| *other == *variable) {
        let problem = format!("is set twice, by {variable} too");
        return Err(KeyError::at(source, key.path, problem, format!("unset {variable} or {name}")));
    }
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok((key, source, key.value_of(without_line_break(&text)))),
        Err(error) => Err(KeyError::at(
            source,
            key.path,
            format!("cannot be read from its file: {error}"),
            format!("let {name} name a readable file"),
        )),
    }
}

/// Drops one trailing line break, which text editors add.
pub(super) fn without_line_break(text: &str) -> &str {
    text.strip_suffix('\n').map_or(text, |line| line.strip_suffix('\r').unwrap_or(line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::configuration::tests::Given;

    #[test]
    fn reports_variables_that_nearly_match() {
        let warnings = |name: &str| Given::nothing().with(name, "x").loaded().warnings;
        for (name, key, meant) in [
            ("COMPANION_HTTP_LISTEN", "http.listen", "COMPANION_HTTP__LISTEN"),
            ("companion_storage__url", "storage.url", "COMPANION_STORAGE__URL"),
            ("COMPANION_MANAGEMENT_KEY_FILE", "management.key", "COMPANION_MANAGEMENT__KEY_FILE"),
        ] {
            let [warning] = warnings(name).try_into().unwrap();
            let said = format!("{key} ({name}): is set, but not read\n    fix: did you mean {meant}?");
            assert_eq!(warning.to_string(), said);
        }
        for name in
            ["COMPANION_BUILD_SHA", "COMPANION_HTTP", "COMPANION_TEST_POSTGRES", "OTHER__KEY", "HTTP_LISTEN"]
        {
            assert_eq!(warnings(name), [], "{name}");
        }
        assert_eq!(warnings("COMPANION_DASHBOARD__NAME"), []);
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
    fn parses_numbers_booleans_lists_and_tables() {
        let given =
            Given::variables(&[("SESSIONS__PER_USER", "3"), ("HTTP__SIGN_OUT", "true")]).configuration();
        assert_eq!((given.sessions.per_user.get(), given.http.sign_out), (3, true));
        // Inline TOML, or JSON.
        for (list, table) in [
            (
                "['https://a.example', 'https://b.example']",
                "{ default = 'https://a.example/b', 'https://c.example' = 'https://c.example/b' }",
            ),
            (
                r#"["https://a.example","https://b.example"]"#,
                r#"{"default": "https://a.example/b", "https://c.example": "https://c.example/b"}"#,
            ),
        ] {
            let given =
                Given::variables(&[("HTTP__ALLOWED_ORIGINS", list), ("IDENTITY__REDIRECT_URI", table)]);
            let configuration = given.configuration();
            assert_eq!(configuration.http.allowed_origins.len(), 2, "{list}");
            assert_eq!(configuration.identity.redirect_uri.unwrap().by_origin.len(), 1, "{table}");
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
    fn refuses_missing_empty_doubled_and_unsupported_secret_files() {
        for (variables, key, said) in [
            (&[("HTTP__LISTEN_FILE", "/nowhere")][..], "http.listen", "only secrets are read from files"),
            (&[("SECRETS__KEY_FILE", "/nowhere/key")], "secrets.key", "/nowhere/key"),
            (&[("IDENTITY__CLIENT_SECRET", "")], "identity.client_secret", "must be text on one line"),
            (
                &[("MANAGEMENT__KEY", "hunter3-hunter3-3"), ("MANAGEMENT__KEY_FILE", "/nowhere")],
                "management.key",
                "is set twice, by COMPANION_MANAGEMENT__KEY too",
            ),
        ] {
            let error = Given::variables(variables).error();
            assert!(error.key == key && error.to_string().contains(said), "{error}");
        }
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
            ("COMPANION_IDENTITY__REDIRECT_URI__DEFAULT", "COMPANION_IDENTITY__REDIRECT_URI"),
            ("COMPANION_IDENTITY__CLIENT_SECRETS_FILE", "COMPANION_IDENTITY__CLIENT_SECRET"),
        ] {
            let error = Given::nothing().with(variable, "x").error();
            assert!(error.to_string().contains(variable), "{error}");
            assert!(error.fix.ends_with(&format!("which is {nearest}?")), "{error}");
        }
    }
}
