//! Configurations, in files and in the environment.

use companion::configuration::{ConfigurationFile, KEYS, Layers, Mistakes, load_for_serving, sample};
use companion_testkit::hostile::{Hostile, count};
use std::fs;

const VALUES: [&str; 24] = [
    "127.0.0.1:8080",
    "[::1]:0",
    r#"["https://dashboard.example", "http://localhost:3000"]"#,
    r#"["10.0.0.0/8", "::1/128"]"#,
    "true",
    "4",
    "sqlite:companion.db",
    "postgres://companion@localhost/companion",
    "memory:",
    "discord",
    "123456",
    "https://dashboard.example/callback",
    r#"{"https://dashboard.example" = "https://dashboard.example/callback", default = "https://a.example/b"}"#,
    "bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmU=",
    r#"["bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmU="]"#,
    "30d",
    "500ms",
    "60s",
    "64 KiB",
    "256 MiB",
    r#"["Board", "Support"]"#,
    "json",
    "debug",
    "https://discord.com/api/v10",
];

/// What is refused names a key or a place, and says what to do.
fn explained(mistakes: &Mistakes) {
    let text = mistakes.to_string();
    assert!(!text.trim().is_empty());
}

#[test]
fn hostile_variables_are_read_or_refused_with_words() {
    let names: Vec<_> = KEYS.iter().map(|key| key.variable()).collect();
    let (mut name, mut value) = (Hostile::new(&names, 1), Hostile::new(&VALUES, 2));
    let inputs = count(300, 1_000_000);
    let mut refused = 0_u64;
    for _ in 0..inputs {
        let mut layers = Layers::none();
        for _ in 0..=value.below(3) {
            // Most names are as they should be, so that their values are read.
            let name =
                if value.below(4) == 0 { name.text() } else { names[value.below(names.len())].clone() };
            // A file that is named here could be any on this machine.
            if !name.ends_with("_FILE") {
                layers = layers.with(&name, &value.text());
            }
        }
        if let Err(mistakes) = load_for_serving(&layers) {
            refused += 1;
            explained(&mistakes);
        }
    }
    println!("hostile: {inputs} environments, {refused} refused: no panic");
    assert!(refused > 0 && refused < inputs);
}

#[test]
fn hostile_files_are_read_or_refused_with_words() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("companion.toml");
    let commented = sample();
    // The sample's keys are comments; here they count.
    let set: String = commented
        .lines()
        .map(|line| line.strip_prefix("# ").unwrap_or(line))
        .fold(String::new(), |text, line| text + line + "\n");
    let short = "[http]\nlisten = \"127.0.0.1:0\"\nsign_out = true\n[sessions]\nlifetime = \"30d\"\n";
    let table = "[identity.redirect_uri]\n\"https://a.example\" = \"https://a.example/b\"\n[limits]\nbody = \"1 KiB\"\n";
    let mut hostile = Hostile::new(&[commented.as_str(), &set, short, short, table, table], 3);
    let inputs = count(300, 500_000);
    let mut refused = 0_u64;
    for _ in 0..inputs {
        fs::write(&path, hostile.bytes()).unwrap();
        let layers = Layers { file: ConfigurationFile::Named(path.clone()), ..Layers::none() };
        if let Err(mistakes) = load_for_serving(&layers) {
            refused += 1;
            explained(&mistakes);
        }
    }
    println!("hostile: {inputs} configuration files, {refused} refused: no panic");
    assert!(refused > 0 && refused < inputs);
}
