//! The command line and the configuration: `companion config`, and what needs no configuration.

use crate::program::Program;
use companion::configuration::KEYS;
use std::sync::Arc;
use tempfile::TempDir;

#[test]
fn config_check_refuses_what_serve_refuses_with_the_same_text() {
    let cases: [&[(&str, &str)]; 3] = [
        &[("STORAGE__URL", "postgres://me:hunter2@db/companion?no_such_option=1")],
        &[("HTTP__TLS_CERTIFICATE", "certificate.pem"), ("HTTP__TLS_KEY", "key.pem")],
        &[
            ("MANAGEMENT__KEYS", "{ bot = { key = 'hunter2hunter2hunter2', scopes = ['feed'] } }"),
            ("MANAGEMENT__KEY", "hunter2hunter2hunter2"),
        ],
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
fn warns_of_probable_mistakes() {
    let program = |arguments: &[&str]| {
        Program::serving(arguments)
            .env("COMPANION_IDENTITY__API_URL", "http://127.0.0.1:1")
            .env("COMPANION_DASHBOARD__URL", "https://dashboard.example")
    };
    let words = "is not set, so the dashboard is off";
    let checked = program(&["config", "check"]).finish();
    assert_eq!(checked.code, Some(0));
    let told = "Warning: dashboard.listen (taken together): ";
    assert!(checked.out.contains(told) && checked.out.contains(words), "{}", checked.out);
    let examined = program(&["doctor"]).finish().out;
    let told = "warning  configuration        dashboard.listen: ";
    assert!(examined.contains(told) && examined.contains(words), "{examined}");
    let mut service = program(&["serve"]).start();
    service.public();
    let log = service.stop().err;
    let line = log.lines().find(|line| line.contains(words)).unwrap_or_else(|| panic!("{log}"));
    assert!(["WARN", "dashboard.listen ", "; fix: "].iter().all(|part| line.contains(part)), "{line}");
    let usual = Program::new(&["config", "check"]).finish();
    assert_eq!((usual.code, usual.out.as_str()), (Some(0), "The configuration is right.\n"));
    let nearly = Program::new(&["config", "check"]).env("COMPANION_HTTP_LISTEN", "0.0.0.0:80").finish();
    let warning = "Warning: http.listen (COMPANION_HTTP_LISTEN): is set, but not read\n    \
                   fix: did you mean COMPANION_HTTP__LISTEN?\n";
    assert_eq!((nearly.code, nearly.out), (Some(0), usual.out + warning));
}

#[test]
fn show_prints_each_value_and_its_source() {
    let with = |arguments: &[&str]| {
        Program::new(arguments)
            .file("mine.toml", "[sessions]\nidle = '1d'")
            .file("companion.toml", "log.access = 'neither read nor checked'")
            .file("secret", "hunter2\n")
            .env("COMPANION_LOG__ACCESS", "true")
            .env("COMPANION_IDENTITY__CLIENT_ID", "123456")
            .env("COMPANION_STORAGE__URL", "postgres://user:hunter2@db/companion")
            .env("COMPANION_IDENTITY__CLIENT_SECRET_FILE", "secret")
    };
    let finished = with(&["config", "show", "--config", "mine.toml"]).finish();
    assert_eq!(finished.code, Some(0), "{}", finished.err);
    for (key, expected) in [
        ("sessions.idle", "\"1d\" # mine.toml:2"),
        ("log.access", "true # COMPANION_LOG__ACCESS"),
        ("identity.client_id", "\"123456\" # COMPANION_IDENTITY__CLIENT_ID"),
        ("identity.client_secret", "(set) # COMPANION_IDENTITY__CLIENT_SECRET_FILE, file secret"),
        ("http.sign_out", "false # default"),
    ] {
        let line = finished.out.lines().find_map(|line| line.strip_prefix(&format!("{key} = "))).unwrap();
        assert_eq!(line.split_whitespace().collect::<Vec<_>>().join(" "), expected, "{key}");
    }
    assert!(!finished.out.contains("hunter2"));
    let json = with(&["config", "show", "--json", "--config", "mine.toml"]).finish().out;
    assert!(!json.contains("hunter2"));
    let values: serde_json::Value = serde_json::from_str(&json).unwrap();
    let values = values.as_array().unwrap();
    assert_eq!(values.len(), KEYS.len());
    let secret = values.iter().find(|value| value["key"] == "identity.client_secret").unwrap();
    let expected = serde_json::json!({
        "key": "identity.client_secret", "value": "(set)", "secret": true,
        "source": "COMPANION_IDENTITY__CLIENT_SECRET_FILE, file secret",
    });
    assert_eq!(*secret, expected);
}

#[test]
fn the_schema_accepts_valid_files_and_refuses_typos() {
    let printed = Program::new(&["config", "schema"]).finish();
    assert_eq!(printed.code, Some(0), "{}", printed.err);
    let schema: serde_json::Value = serde_json::from_str(&printed.out).unwrap();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let accepts =
        |toml: &str| validator.is_valid(&serde_json::to_value(toml.parse::<toml::Table>().unwrap()).unwrap());
    let sample = Program::new(&["config", "sample"]).finish().out;
    // The sample as printed, and with every key set to its default or example.
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
    assert_eq!(keys, KEYS.len());
    let errors: Vec<_> = validator
        .iter_errors(&serde_json::to_value(&parsed).unwrap())
        .map(|error| error.to_string())
        .collect();
    assert_eq!(errors, Vec::<String>::new());
    for refused in [
        "[http]\nlistn = \"127.0.0.1:80\"",
        "[http]\nlisten = 8080",
        "[http]\nallowed_origins = \"https://a.example\"",
        "[sessions]\nper_user = 0",
        "[storage]\nurl = \"companion.db\"",
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
    assert!(schema["properties"]["secrets"]["properties"]["key"].get("examples").is_none());
}

#[test]
fn version_openapi_and_completions_are_printed() {
    let printed = |arguments: &[&str]| {
        let finished = Program::new(arguments).finish();
        assert_eq!(finished.code, Some(0), "{arguments:?}: {}", finished.err);
        finished.out
    };
    let version = printed(&["--version"]);
    let rest = version.strip_prefix(concat!("companion ", env!("CARGO_PKG_VERSION"), " (branch ")).unwrap();
    let (branch, commit) = rest.trim_end().strip_suffix(')').unwrap().split_once(", commit ").unwrap();
    assert!(!branch.is_empty());
    let is_hash = commit.len() == 40 && commit.bytes().all(|b| b.is_ascii_hexdigit());
    assert!(commit == "unknown" || is_hash, "{version}");
    let documented = include_str!("../../../../docs/openapi.json");
    assert_eq!(printed(&["openapi"]).trim_end(), documented.trim_end());
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(printed(&["completions", shell]).contains("companion"), "{shell}");
    }
}
