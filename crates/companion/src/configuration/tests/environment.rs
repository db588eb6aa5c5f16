//! The environment.

use super::Given;
use crate::configuration::{KEYS, Source, StorageUrl};

#[test]
fn the_variable_is_the_path_in_capitals_with_two_underscores() {
    let given = Given::nothing().with("COMPANION_STORAGE__URL", "memory:");
    assert_eq!(given.configuration().storage.url, StorageUrl::Memory);
    let variables: Vec<_> = KEYS.iter().map(|key| key.variable()).collect();
    assert!(variables.contains(&"COMPANION_LIMITS__CONNECTIONS_PER_ADDRESS".to_owned()));
}

#[test]
fn variables_without_two_underscores_are_not_ours() {
    let given = Given::nothing()
        .with("COMPANION_BUILD_SHA", "x")
        .with("COMPANION_HTTP", "x")
        .with("OTHER__KEY", "x")
        .with("companion_http__listen", "x");
    assert_eq!(given.configuration().http.listen.port, 8080);
}

#[test]
fn a_variable_that_is_nearly_ours_is_named() {
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
fn text_stays_text_when_it_looks_like_something_else() {
    for text in ["123456", "true", "1e5", "0x10", "[1]"] {
        let identity = Given::nothing().with("COMPANION_IDENTITY__CLIENT_ID", text).configuration().identity;
        assert_eq!(identity.client_id.unwrap().as_str(), text);
    }
}

#[test]
fn numbers_and_booleans_are_read_from_their_text() {
    let given =
        Given::nothing().with("COMPANION_SESSIONS__PER_USER", "3").with("COMPANION_HTTP__SIGN_OUT", "true");
    let configuration = given.configuration();
    assert_eq!(configuration.sessions.per_user.get(), 3);
    assert!(configuration.http.sign_out);
}

#[test]
fn lists_and_tables_are_inline_toml_or_json() {
    for list in ["['https://a.example', 'https://b.example']", r#"["https://a.example","https://b.example"]"#]
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
fn a_secret_comes_from_a_file_without_its_last_line_break() {
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
fn every_secret_can_come_from_a_file_and_nothing_else_can() {
    let secrets: Vec<_> =
        KEYS.iter().filter(|key| key.file_variable().is_some()).map(|key| key.path).collect();
    assert_eq!(
        secrets,
        ["management.key", "management.keys", "storage.url", "identity.client_secret", "secrets.key"]
    );
    let mistake = Given::nothing().with("COMPANION_HTTP__LISTEN_FILE", "/nowhere").mistake();
    assert!(mistake.problem.contains("only secrets are read from files"), "{mistake}");
    assert!(mistake.fix.contains("COMPANION_HTTP__LISTEN "), "{mistake}");
}

#[test]
fn a_secret_and_its_file_at_once_are_a_mistake() {
    let given = Given::nothing();
    let path = given.write("secret", "hunter2");
    let given = given
        .with("COMPANION_MANAGEMENT__KEY", "hunter3-hunter3-3")
        .with("COMPANION_MANAGEMENT__KEY_FILE", path.to_str().unwrap());
    let mistake = given.mistake();
    assert_eq!(mistake.key, "management.key");
    assert!(mistake.problem.contains("is set twice, by COMPANION_MANAGEMENT__KEY too"), "{mistake}");
}

#[test]
fn a_secret_file_that_is_not_there_is_a_mistake_with_its_name() {
    let mistake = Given::nothing().with("COMPANION_SECRETS__KEY_FILE", "/nowhere/key").mistake();
    assert_eq!(mistake.key, "secrets.key");
    assert!(mistake.to_string().contains("/nowhere/key"), "{mistake}");
}

#[test]
fn an_empty_variable_is_not_taken_for_an_absent_one() {
    let mistake = Given::nothing().with("COMPANION_IDENTITY__CLIENT_SECRET", "").mistake();
    assert_eq!(mistake.key, "identity.client_secret");
}

#[cfg(unix)]
#[test]
fn a_variable_that_is_no_text_is_a_mistake() {
    use std::os::unix::ffi::OsStringExt as _;
    let mut given = Given::nothing();
    let value = std::ffi::OsString::from_vec(vec![0xff]);
    given.layers.environment.push(("COMPANION_HTTP__LISTEN".into(), value));
    assert!(given.mistake().problem.contains("UTF-8"));
}
