//! The texts that are made from the table of keys.

use super::Given;
use crate::configuration::{Fallback, KEYS, reference, sample};

#[test]
fn the_sample_has_every_key_and_changes_nothing() {
    let sample = sample();
    for key in KEYS {
        assert!(sample.contains(&format!("\n#{} = ", key.name)), "{}", key.path);
    }
    let (given, nothing) = (Given::file(&sample), Given::nothing());
    for (one, other) in given.loaded().effective.iter().zip(&nothing.loaded().effective) {
        assert_eq!((one.key.path, &one.value, &one.source), (other.key.path, &other.value, &other.source));
    }
}

#[test]
fn a_sample_whose_defaults_are_uncommented_is_the_same_configuration() {
    let is_default = |line: &str, key: &crate::configuration::Key| {
        key.without_a_value().is_ok_and(|value| line == format!("#{} = {value}", key.name))
    };
    let uncommented: Vec<_> = sample()
        .lines()
        .map(|line| {
            if KEYS.iter().any(|key| is_default(line, key)) { line[1..].to_owned() } else { line.to_owned() }
        })
        .collect();
    let given = Given::file(&uncommented.join("\n"));
    let written = uncommented.iter().filter(|line| line.contains(" = ") && !line.starts_with('#')).count();
    assert_eq!(written, KEYS.iter().filter(|key| key.without_a_value().is_ok()).count());
    assert_eq!(format!("{:?}", given.configuration()), format!("{:?}", Given::nothing().configuration()));
}

#[test]
fn the_examples_of_keys_are_valid() {
    // The example of a key that is made tells how to make one: a real one would be used by someone.
    for key in KEYS.iter().filter(|key| !matches!(key.default, Fallback::Made)) {
        let given = Given::file(&format!("[{}]\n{} = {}", key.table, key.name, key.example()));
        assert_eq!(given.mistakes(), [], "{}", key.path);
    }
}

#[test]
fn the_documentation_has_the_table_of_keys() {
    let page = include_str!("../../../../../docs/configuration.md");
    let table = reference();
    assert!(page.contains(&table), "docs/configuration.md should have this table:\n{table}");
}
