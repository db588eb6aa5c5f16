//! How mistakes are told.

use super::Given;
use crate::configuration::{KEYS, Source, load, load_for_serving};

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
fn what_follows_from_another_mistake_is_not_told() {
    let application = "[identity]\nclient_id = '1'\nredirect_uri = 'https://a.example/b'\nclient_secret = ";
    let keys = |given: Given| {
        let mistakes = load_for_serving(&given.layers).unwrap_err();
        mistakes.as_slice().iter().map(|mistake| mistake.key.clone()).collect::<Vec<_>>()
    };
    assert_eq!(keys(Given::file(&format!("{application}7"))), ["identity.client_secret"]);
    assert_eq!(keys(Given::file(&format!("{application}'a"))), ["the configuration file"]);
    let unreadable = Given::nothing()
        .with("COMPANION_IDENTITY__CLIENT_ID", "1")
        .with("COMPANION_IDENTITY__CLIENT_SECRET_FILE", "/there/is/no/such/file")
        .with("COMPANION_IDENTITY__REDIRECT_URI", "https://a.example/b");
    assert_eq!(keys(unreadable), ["identity.client_secret"]);
}

#[test]
fn values_that_contradict_each_other_are_mistakes() {
    for (text, key) in [
        ("http.listen = 'h:1'\nmanagement.listen = 'h:1'", "management.listen"),
        ("http.listen = 'h:1'\ndashboard.listen = 'h:1'", "dashboard.listen"),
        ("management.listen = 'h:1'\ndashboard.listen = 'h:1'", "dashboard.listen"),
        ("[guilds]\nrefresh_after = '2h'\nstale_for = '1h'", "guilds.stale_for"),
        ("[limits]\nconnections = 10\nconnections_per_address = 11", "limits.connections_per_address"),
    ] {
        assert_eq!(Given::file(text).mistake().key, key);
    }
    // Two free ports are two ports.
    Given::file("http.listen = 'h:0'\nmanagement.listen = 'h:0'\ndashboard.listen = 'h:0'").configuration();
}

#[test]
fn a_limit_that_nobody_set_follows_one_that_somebody_did() {
    let given = Given::file("[limits]\nconnections = 1000");
    assert_eq!(given.configuration().limits.connections_per_address.get(), 1000);
    assert_eq!(given.effective("limits.connections_per_address"), (Source::Default, "1000".to_owned()));
}

/// The value that an advice shows, as a file has it.
fn advised(fix: &str) -> &str {
    let (_, value) = fix.split_once(" = ").unwrap();
    value.rsplit_once(" in [").unwrap().0
}

#[test]
fn the_advice_for_a_wrong_value_shows_one_that_would_work() {
    for key in KEYS {
        let wrong = Given::file(&format!("[{}]\n{} = 1970-01-01", key.table, key.name)).mistake();
        let value = advised(&wrong.fix);
        assert_ne!(value, "[]", "{wrong}");
        let right = Given::file(&format!("[{}]\n{} = {value}", key.table, key.name));
        assert_eq!(right.mistakes(), [], "{wrong}");

        let (variable, empty) = (key.variable(), "\u{7f} ");
        let wrong = Given::nothing().with(&variable, empty).mistake();
        let (_, value) = wrong.fix.split_once('=').unwrap();
        let right = Given::nothing().with(&variable, value.trim_matches('\''));
        assert_eq!(right.mistakes(), [], "{wrong}");
    }
}

#[test]
fn no_two_advices_show_the_same_key() {
    let advice = || Given::nothing().with("COMPANION_SECRETS__KEY", "short").mistake().fix;
    assert_ne!(advice(), advice());
}

#[test]
fn what_could_not_be_served_is_found_before_anything_is_made() {
    let cases: [(Given, &[&str]); 6] = [
        (
            Given::nothing().with("COMPANION_IDENTITY__CLIENT_ID", "1"),
            &["identity.client_secret", "identity.redirect_uri"],
        ),
        (
            Given::nothing().with("COMPANION_IDENTITY__REDIRECT_URI", "https://a.example/callback"),
            &["identity.client_id", "identity.client_secret"],
        ),
        (
            Given::nothing().with("COMPANION_IDENTITY__API_URL", "http://platform.example/api"),
            &["identity.api_url"],
        ),
        (
            Given::nothing().with("COMPANION_STORAGE__URL", "postgres://db/companion"),
            &["secrets.key", "management.key"],
        ),
        (
            Given::nothing()
                .with("COMPANION_STORAGE__URL", "postgres://db/companion")
                .with("COMPANION_IDENTITY__CLIENT_SECRET", "hunter2"),
            &["identity.client_id", "identity.redirect_uri", "secrets.key", "management.key"],
        ),
        (Given::nothing(), &[]),
    ];
    for (given, expected) in cases {
        let mistakes = load_for_serving(&given.layers).err().map(|mistakes| mistakes.as_slice().to_vec());
        let keys: Vec<_> = mistakes.iter().flatten().map(|mistake| mistake.key.as_str()).collect();
        assert_eq!(keys, expected);
        assert!(load(&given.layers).is_ok(), "other commands do with less");
    }
}

#[test]
fn an_address_of_a_server_that_cannot_work_is_refused_without_asking_it() {
    for url in ["postgres://db:port/companion", "postgres://db:70000/companion", "postgres://db/c?optoins=1"]
    {
        let mistake = Given::nothing().with("COMPANION_STORAGE__URL", url).mistake();
        assert_eq!(mistake.key, "storage.url", "{url}");
    }
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
        ("COMPANION_MANAGEMENT__KEY", "['hunter2-hunter2-2', 'hunter2-hunter2-3']", "hunter2"),
        ("COMPANION_IDENTITY__CLIENT_SECRET", "hunter2", "hunter2"),
        ("COMPANION_STORAGE__URL", "postgres://u:hunter2@db/c", "hunter2"),
    ] {
        let loaded = Given::nothing().with(variable, value).loaded();
        assert!(!format!("{loaded:?}").contains(secret), "{variable}");
        assert!(loaded.effective.iter().any(|key| key.value.contains("(set")), "{variable}");
    }
}
