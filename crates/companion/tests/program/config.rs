//! The command line and the configuration: `companion config`, and the help of all commands.

use crate::program::Program;
use companion::configuration::KEYS;
use std::{collections::BTreeSet, path::Path, sync::Arc};
use tempfile::TempDir;

#[test]
fn config_check_refuses_what_serve_refuses_with_the_same_text() {
    // One of each place that checks: single values, values taken together, files, and the parts of the program.
    let cases: [&[(&str, &str)]; 6] = [
        &[("IDENTITY__API_URL", "http://platform.example/api")],
        &[("STORAGE__URL", "postgres://db/companion"), ("MANAGEMENT__KEY", "hunter2hunter2hunter2")],
        &[("STORAGE__URL", "postgres://me:hunter2@db/companion?no_such_option=1")],
        &[("HTTP__LISTEN", "127.0.0.1:1"), ("MANAGEMENT__LISTEN", "127.0.0.1:1")],
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
        let log = service.stop().err;
        let line = log.lines().find(|line| line.contains(words)).unwrap_or_else(|| panic!("{log}"));
        assert!(
            line.contains("WARN") && line.contains(&format!("{warned} ")) && line.contains("; fix: "),
            "{line}"
        );
    }
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
    let shown = |key: &str| {
        finished
            .out
            .lines()
            .find(|line| line.starts_with(&format!("{key} = ")))
            .unwrap()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(shown("sessions.idle"), "sessions.idle = \"1d\" # mine.toml:2");
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
    for key in KEYS {
        let described = &schema["properties"][key.table]["properties"][key.name];
        assert!(described["description"].as_str().unwrap().starts_with(key.about), "{}", key.path);
        assert_eq!(described.get("default").is_some(), key.without_a_value().is_ok(), "{}", key.path);
    }
    assert!(schema["properties"]["secrets"]["properties"]["key"].get("examples").is_none());
}

#[test]
fn version_prints_name_version_branch_and_commit() {
    let finished = Program::new(&["--version"]).finish();
    assert_eq!(finished.code, Some(0));
    let line = finished.out.trim_end();
    let rest = line.strip_prefix(concat!("companion ", env!("CARGO_PKG_VERSION"), " (branch ")).unwrap();
    let (branch, commit) = rest.strip_suffix(')').unwrap().split_once(", commit ").unwrap();
    assert!(!branch.is_empty());
    assert!(
        commit == "unknown" || commit.len() == 40 && commit.bytes().all(|b| b.is_ascii_hexdigit()),
        "{line}"
    );
}

#[test]
fn exits_with_2_on_wrong_usage() {
    for arguments in [&[][..], &["sevre"], &["serve", "now"], &["config"], &["serve", "--config"]] {
        let finished = Program::new(arguments).finish();
        assert_eq!(finished.code, Some(2), "{arguments:?}");
        assert!(finished.out.is_empty() && !finished.err.is_empty(), "{arguments:?}");
    }
}

/// Every command, with the subcommands of `config` and `sessions`.
const COMMANDS: [&str; 22] = [
    "demo",
    "serve",
    "migrate",
    "import",
    "export",
    "backup",
    "reseal",
    "sessions",
    "sessions list",
    "sessions revoke",
    "sessions revoke-all",
    "sessions prune",
    "why",
    "config",
    "config check",
    "config show",
    "config sample",
    "config schema",
    "doctor",
    "openapi",
    "health",
    "completions",
];

#[test]
fn the_help_of_every_command_has_an_example() {
    let overview = Program::new(&["--help"]).finish();
    assert_eq!(overview.code, Some(0));
    for command in COMMANDS {
        let named = command.contains(' ') || overview.out.contains(&format!("\n  {command} "));
        assert!(named, "{command} is not in the overview");
        let arguments: Vec<_> = command.split(' ').chain(["--help"]).collect();
        let finished = Program::new(&arguments).finish();
        assert_eq!(finished.code, Some(0), "{command}");
        let (_, examples) =
            finished.out.split_once("Examples:\n").unwrap_or_else(|| panic!("{command} has no examples"));
        assert!(examples.contains(&format!("companion {command}")), "{command}: {examples}");
    }
}

#[test]
fn the_openapi_document_equals_the_documented_one() {
    let finished = Program::new(&["openapi"]).finish();
    assert_eq!(finished.code, Some(0));
    assert_eq!(finished.out.trim_end(), include_str!("../../../../docs/openapi.json").trim_end());
}

#[test]
fn generates_completions_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let finished = Program::new(&["completions", shell]).finish();
        assert_eq!(finished.code, Some(0), "{shell}");
        assert!(finished.out.contains("companion"), "{shell}");
    }
    assert_eq!(Program::new(&["completions", "abacus"]).finish().code, Some(2));
}

/// Options without a value.
const FLAGS: [&str; 4] = ["--create", "--dry-run", "--json", "--yes"];

/// Returns the `companion` commands of the documentation, with their options.
fn documented_commands() -> BTreeSet<Vec<String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let pages = root.join("docs").read_dir().unwrap().map(|entry| entry.unwrap().path());
    let pages = pages.filter(|path| path.extension().is_some_and(|ending| ending == "md"));
    let mut commands = BTreeSet::new();
    for page in pages.chain([root.join("README.md")]) {
        let text = std::fs::read_to_string(page).unwrap();
        let pieces = text.split(['`', '\n', '|', '>', '&']).map(str::trim_start);
        for piece in pieces.filter_map(|piece| piece.rsplit_once("companion ").map(|(_, command)| command)) {
            let words = piece.split_whitespace().map(str::to_owned);
            let plain = |word: &String| word.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
            let mut command: Vec<_> = words.take_while(plain).collect();
            let takes_a_value =
                |option: &String| option.starts_with("--") && !FLAGS.contains(&option.as_str());
            if command.last().is_some_and(takes_a_value) {
                command.push("1".to_owned());
            }
            commands.insert(command);
        }
    }
    commands
}

#[test]
fn every_command_of_the_documentation_exists() {
    let commands = documented_commands();
    let ours = commands
        .iter()
        .filter(|command| command.first().is_some_and(|first| COMMANDS.contains(&first.as_str())));
    let mut asked = 0;
    for command in ours {
        let arguments: Vec<_> = command.iter().map(String::as_str).chain(["--help"]).collect();
        let finished = Program::new(&arguments).finish();
        assert_eq!(finished.code, Some(0), "{command:?}: {}", finished.err);
        asked += 1;
    }
    assert!(asked >= 11, "{commands:?}");
}
