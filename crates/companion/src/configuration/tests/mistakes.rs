//! How mistakes are told.

use super::Given;
use crate::configuration::{KEYS, load};

#[test]
fn all_mistakes_are_told_at_once_in_the_order_of_the_layers() {
    let given = Given::file("[http]\nlisten = 8080\nworker = 2\n[sessions]\nidle = 'soon'")
        .with("COMPANION_LOG__LEVEL", "loud")
        .with("COMPANION_STORAGE__URI", "memory:")
        .with("COMPANION_STORAGE__URL", "mysql://db");
    let keys: Vec<_> = given.mistakes().into_iter().map(|mistake| mistake.key).collect();
    assert_eq!(
        keys,
        ["http.listen", "http.worker", "sessions.idle", "log.level", "storage.uri", "storage.url"]
    );
}

#[test]
fn a_mistake_has_key_place_problem_and_fix() {
    let given = Given::nothing().with("COMPANION_HTTP__LISTEN", "here");
    assert_eq!(
        load(&given.layers).unwrap_err().to_string(),
        "the configuration has a mistake:\n  \
         http.listen (COMPANION_HTTP__LISTEN): must be a host and a port, like 127.0.0.1:8080, [::1]:8080 or \
         localhost:8080\n    \
         fix: write it like COMPANION_HTTP__LISTEN=127.0.0.1:8080"
    );
    let fix = Given::file("[limits]\nbody = 'much'").mistake().fix;
    assert_eq!(fix, "write it like body = \"64 KiB\" in [limits]");
    let fix = Given::nothing().with("COMPANION_LIMITS__BODY", "much").mistake().fix;
    assert_eq!(fix, "write it like COMPANION_LIMITS__BODY='64 KiB'");
}

#[test]
fn an_unknown_variable_is_named_with_the_nearest_known_one() {
    for (variable, nearest) in [
        ("COMPANION_STORAGE__URI", "COMPANION_STORAGE__URL"),
        ("COMPANION_storage__url", "COMPANION_STORAGE__URL"),
        ("COMPANION__HTTP__LISTEN", "COMPANION_HTTP__LISTEN"),
        ("COMPANION_IDENTITY__REDIRECT_URI__DEFAULT", "COMPANION_IDENTITY__REDIRECT_URI"),
        ("COMPANION_IDENTITY__CLIENT_SECRETS_FILE", "COMPANION_IDENTITY__CLIENT_SECRET"),
    ] {
        let mistake = Given::nothing().with(variable, "x").mistake();
        assert!(mistake.to_string().contains(variable), "{mistake}");
        assert!(mistake.fix.ends_with(&format!("which is {nearest}?")), "{mistake}");
    }
}

#[test]
fn values_that_contradict_each_other_are_mistakes() {
    for (text, key) in [
        ("http.listen = 'h:1'\nmanagement.listen = 'h:1'", "management.listen"),
        ("[guilds]\nrefresh_after = '2h'\nstale_for = '1h'", "guilds.stale_for"),
        ("[limits]\nconnections = 10", "limits.connections_per_address"),
    ] {
        assert_eq!(Given::file(text).mistake().key, key);
    }
    // Two free ports are two ports.
    Given::file("http.listen = 'h:0'\nmanagement.listen = 'h:0'").configuration();
}

#[test]
fn no_secret_is_ever_repeated() {
    const SECRET: &str = "hunter2\thunter2";
    for key in KEYS.iter().filter(|key| key.secret) {
        let in_file = Given::file(&format!("[{}]\n{} = '{SECRET}'", key.table, key.name));
        let broken = Given::file(&format!("[{}]\n{} = '{SECRET}", key.table, key.name));
        let in_environment = Given::nothing().with(&key.variable(), SECRET);
        let list = Given::nothing().with(&key.variable(), &format!("['{SECRET}']"));
        let half_a_list = Given::nothing().with(&key.variable(), &format!("['{SECRET}"));
        let secret = Given::nothing();
        let path = secret.write("secret", SECRET);
        let secret = secret.with(&key.file_variable().unwrap(), path.to_str().unwrap());
        for given in [in_file, broken, in_environment, list, half_a_list, secret] {
            let mistakes = load(&given.layers).unwrap_err();
            assert!(!format!("{mistakes} {mistakes:?}").contains("hunter2"), "{mistakes}");
        }
    }
}

#[test]
fn no_secret_is_ever_shown() {
    const KEY: &str = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";
    for (variable, value, secret) in [
        ("COMPANION_SECRETS__KEY", KEY, KEY),
        ("COMPANION_MANAGEMENT__KEY", "['hunter2', 'hunter2']", "hunter2"),
        ("COMPANION_IDENTITY__CLIENT_SECRET", "hunter2", "hunter2"),
        ("COMPANION_STORAGE__URL", "postgres://u:hunter2@db/c", "hunter2"),
    ] {
        let loaded = Given::nothing().with(variable, value).loaded();
        assert!(!format!("{loaded:?}").contains(secret), "{variable}");
        assert!(loaded.effective.iter().any(|key| key.value.contains("(set")), "{variable}");
    }
}
