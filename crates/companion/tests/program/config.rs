//! `companion config`.

use crate::program::Program;
use std::sync::Arc;
use tempfile::TempDir;

fn line<'a>(shown: &'a str, key: &str) -> &'a str {
    shown.lines().find(|line| line.starts_with(&format!("{key} = "))).unwrap()
}

#[test]
fn without_anything_the_defaults_are_right() {
    assert_eq!(Program::new(&["config", "check"]).finish().code, Some(0));
}

#[test]
fn what_serve_refuses_is_refused_by_the_check_in_the_same_words() {
    let cases: [&[(&str, &str)]; 12] = [
        &[("IDENTITY__CLIENT_ID", "1")],
        &[("IDENTITY__CLIENT_SECRET", "hunter2"), ("IDENTITY__REDIRECT_URI", "https://a.example/callback")],
        &[("IDENTITY__API_URL", "http://platform.example/api")],
        &[("STORAGE__URL", "postgres://db/companion")],
        &[("STORAGE__URL", "postgres://db/companion"), ("MANAGEMENT__KEY", "hunter2hunter2hunter2")],
        &[("STORAGE__URL", "postgres://me:hunter2@db:port/companion")],
        &[("STORAGE__URL", "postgres://me:hunter2@db/companion?no_such_option=1")],
        &[("HTTP__LISTEN", "127.0.0.1:1"), ("MANAGEMENT__LISTEN", "127.0.0.1:1")],
        &[("DASHBOARD__LISTEN", "127.0.0.1:0")],
        &[("MANAGEMENT__KEYS", "{ bot = { key_file = 'missing.key', scopes = ['feed'] } }")],
        &[
            ("MANAGEMENT__KEYS", "{ bot = { key = 'hunter2hunter2hunter2', scopes = ['feed'] } }"),
            ("MANAGEMENT__KEY", "hunter2hunter2hunter2"),
        ],
        &[(
            "MANAGEMENT__KEYS",
            r#"{"a": {"key": "hunter2hunter2hunter2", "scopes": ["feed"]},
                "b": {"key": "hunter2hunter2hunter2", "scopes": ["metrics"]}}"#,
        )],
    ];
    for case in cases {
        let folder = Arc::new(TempDir::new().unwrap());
        let run = |command: &[&str]| {
            case.iter()
                .fold(Program::within(&folder, command), |program, (key, value)| {
                    program.env(&format!("COMPANION_{key}"), value)
                })
                .finish()
        };
        let (check, serve) = (run(&["config", "check"]), run(&["serve"]));
        assert_eq!((check.code, serve.code), (Some(2), Some(2)), "{case:?}: {} {}", check.err, serve.err);
        assert_eq!(check.err, serve.err, "{case:?}");
        assert!(!check.err.contains("hunter2"), "{}", check.err);
        assert_eq!(folder.path().read_dir().unwrap().count(), 0, "nothing was made: {case:?}");
    }
}

#[test]
fn what_is_hardly_meant_so_is_warned_of() {
    for (key, value, warned, words) in [
        (
            "DASHBOARD__URL",
            "https://dashboard.example",
            "dashboard.listen",
            "is not set, so the dashboard is off",
        ),
        (
            "MANAGEMENT__LISTEN",
            "0.0.0.0:0",
            "management.listen",
            "other machines may reach the management API",
        ),
    ] {
        let program = |arguments: &[&str]| {
            Program::serving(arguments)
                .env("COMPANION_IDENTITY__API_URL", "http://127.0.0.1:1")
                .env(&format!("COMPANION_{key}"), value)
        };
        let checked = program(&["config", "check"]).finish();
        assert_eq!(checked.code, Some(0));
        let told = format!("Warning: {warned} (taken together): ");
        assert!(checked.out.contains(&told) && checked.out.contains(words), "{}", checked.out);
        let examined = program(&["doctor"]).finish();
        let told = format!("warning  configuration        {warned}: ");
        assert!(examined.out.contains(&told) && examined.out.contains(words), "{}", examined.out);
        let mut service = program(&["serve"]).start();
        service.public();
        service.signal("INT");
        let log = service.finish().err;
        let line = log.lines().find(|line| line.contains(words)).unwrap_or_else(|| panic!("{log}"));
        assert!(
            line.contains("WARN") && line.contains(&format!("{warned} ")) && line.contains("; fix: "),
            "{line}"
        );
    }
    let usual = Program::new(&["config", "check"]).finish();
    assert_eq!(usual.out, "The configuration is right.\n");
}

#[test]
fn a_variable_with_single_underscores_is_named() {
    let check = Program::new(&["config", "check"]).env("COMPANION_HTTP_LISTEN", "0.0.0.0:80").finish();
    let warning =
        "Warning: COMPANION_HTTP_LISTEN is set, but not read: did you mean COMPANION_HTTP__LISTEN?\n";
    assert_eq!((check.code, check.out), (Some(0), format!("The configuration is right.\n{warning}")));
}

#[test]
fn mistakes_end_with_2_and_are_all_told() {
    let program = Program::new(&["config", "check"])
        .file("companion.toml", "[http]\nlisten = 'nowhere'\n[sesions]\nidle = '1d'")
        .env("COMPANION_LOG__LEVEL", "loud")
        .env("COMPANION_IDENTITY__CLIENT_SECRET", "hunter2\thunter2");
    let finished = program.finish();
    assert_eq!(finished.code, Some(2));
    for part in [
        "4 mistakes",
        "http.listen (companion.toml:2)",
        "sesions (companion.toml:3)",
        "did you mean [sessions]?",
        "log.level (COMPANION_LOG__LEVEL)",
        "identity.client_secret (COMPANION_IDENTITY__CLIENT_SECRET)",
    ] {
        assert!(finished.err.contains(part), "{part}: {}", finished.err);
    }
    assert!(!finished.err.contains("hunter2"));
}

#[test]
fn a_management_key_that_can_be_guessed_is_refused_by_check_and_by_serve() {
    for command in [&["config", "check"][..], &["serve"]] {
        let finished = Program::new(command).env("COMPANION_MANAGEMENT__KEY", "hunter2").finish();
        assert_eq!(finished.code, Some(2), "{command:?}");
        for part in ["management.key (COMPANION_MANAGEMENT__KEY)", "16 or more", "openssl rand -base64 32"] {
            assert!(finished.err.contains(part), "{part}: {}", finished.err);
        }
        assert!(!finished.err.contains("hunter2"));
    }
}

#[test]
fn show_tells_each_value_and_where_it_came_from() {
    let program = Program::new(&["config", "show"])
        .file("companion.toml", "[sessions]\nidle = '1d'")
        .file("secret", "hunter2\n")
        .env("COMPANION_LOG__ACCESS", "true")
        .env("COMPANION_IDENTITY__CLIENT_ID", "123456")
        .env("COMPANION_STORAGE__URL", "postgres://user:hunter2@db/companion")
        .env("COMPANION_IDENTITY__CLIENT_SECRET_FILE", "secret");
    let finished = program.finish();
    assert_eq!(finished.code, Some(0), "{}", finished.err);
    let shown = |key: &str| line(&finished.out, key).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(shown("sessions.idle"), "sessions.idle = \"1d\" # companion.toml:2");
    assert_eq!(shown("log.access"), "log.access = true # COMPANION_LOG__ACCESS");
    assert_eq!(
        shown("identity.client_id"),
        "identity.client_id = \"123456\" # COMPANION_IDENTITY__CLIENT_ID"
    );
    assert_eq!(
        shown("identity.client_secret"),
        "identity.client_secret = (set) # COMPANION_IDENTITY__CLIENT_SECRET_FILE, file secret"
    );
    assert_eq!(shown("http.sign_out"), "http.sign_out = false # default");
    assert!(!finished.out.contains("hunter2"));
}

#[test]
fn a_named_file_is_read_and_must_exist() {
    let program = Program::new(&["config", "show", "--config", "mine.toml"])
        .file("mine.toml", "log.access = true")
        .file("companion.toml", "log.access = 'neither read nor checked'");
    let finished = program.finish();
    assert!(line(&finished.out, "log.access").contains("mine.toml:1"), "{}", finished.err);
    assert_eq!(Program::new(&["--config", "mine.toml", "config", "check"]).finish().code, Some(2));
}

#[test]
fn the_sample_is_a_right_configuration_with_nothing_but_defaults() {
    let sample = Program::new(&["config", "sample"]).finish();
    assert_eq!(sample.code, Some(0));
    let with = Program::new(&["config", "show"]).file("companion.toml", &sample.out).finish();
    let without = Program::new(&["config", "show"]).finish();
    assert_eq!((with.code, with.out), (Some(0), without.out));
}

#[test]
fn the_schema_accepts_what_the_program_accepts_and_refuses_slips() {
    let printed = Program::new(&["config", "schema"]).finish();
    assert_eq!(printed.code, Some(0), "{}", printed.err);
    let schema: serde_json::Value = serde_json::from_str(&printed.out).unwrap();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let accepts =
        |toml: &str| validator.is_valid(&serde_json::to_value(toml.parse::<toml::Table>().unwrap()).unwrap());
    let sample = Program::new(&["config", "sample"]).finish().out;
    // The sample as it stands, and with every key set to its default or example.
    assert!(accepts(&sample));
    let key = |line: &str| line.starts_with('#') && line[1..].starts_with(|c: char| c.is_ascii_lowercase());
    let every: String = sample
        .lines()
        .map(|line| if key(line) { format!("{}\n", &line[1..]) } else { format!("{line}\n") })
        .collect();
    let every = every
        .replace("the output of: openssl rand -base64 32", "b25lb25lb25lb25lb25lb25lb25lb25lb25lb25lb24=");
    let parsed: toml::Table = every.parse().unwrap();
    let keys: usize = parsed.values().map(|table| table.as_table().unwrap().len()).sum();
    assert_eq!(keys, companion::configuration::KEYS.len());
    let errors: Vec<_> = validator
        .iter_errors(&serde_json::to_value(&parsed).unwrap())
        .map(|error| error.to_string())
        .collect();
    assert_eq!(errors, Vec::<String>::new());
    for refused in [
        "[http]\nlistn = \"127.0.0.1:80\"",
        "[htp]\n",
        "[http]\nlisten = 8080",
        "[http]\nsign_out = \"yes\"",
        "[http]\nallowed_origins = \"https://a.example\"",
        "[sessions]\nper_user = 0",
        "[sessions]\nidle = \"5 minutes\"",
        "[storage]\nurl = \"companion.db\"",
        "[log]\nlevel = \"loud\"",
        "[identity]\nredirect_uri = { \"https://a.example\" = \"https://a.example/back\" }",
        "[management]\nkey = \"short\"",
    ] {
        assert!(!accepts(refused), "{refused}");
    }
    for accepted in [
        "[management]\nkey = [\"sixteen-letters-1\", \"sixteen-letters-2\"]",
        "[limits]\nbody = 65536",
        "[identity]\nredirect_uri = { default = \"https://a.example\", \"https://b.example\" = \"https://b.example/back\" }",
    ] {
        assert!(accepts(accepted), "{accepted}");
    }
}

#[test]
fn every_key_has_a_description_in_the_schema_and_no_secret_an_example() {
    let schema = companion::configuration::schema();
    for key in companion::configuration::KEYS {
        let described = &schema["properties"][key.table]["properties"][key.name];
        assert!(described["description"].as_str().unwrap().starts_with(key.about), "{}", key.path);
        assert_eq!(described.get("default").is_some(), key.without_a_value().is_ok(), "{}", key.path);
    }
    assert!(schema["properties"]["secrets"]["properties"]["key"].get("examples").is_none());
}

#[test]
fn values_and_their_sources_are_one_json_document_for_scripts() {
    let shown = Program::new(&["config", "show", "--json"])
        .env("COMPANION_IDENTITY__CLIENT_SECRET", "hunter2")
        .finish();
    assert_eq!(shown.code, Some(0), "{}", shown.err);
    assert!(!shown.out.contains("hunter2"));
    let values: serde_json::Value = serde_json::from_str(&shown.out).unwrap();
    let values = values.as_array().unwrap();
    assert_eq!(values.len(), companion::configuration::KEYS.len());
    let secret = values.iter().find(|value| value["key"] == "identity.client_secret").unwrap();
    let expected = serde_json::json!({
        "key": "identity.client_secret", "value": "(set)", "source": "COMPANION_IDENTITY__CLIENT_SECRET", "secret": true,
    });
    assert_eq!(*secret, expected);
}
