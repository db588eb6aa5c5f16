//! Descriptions of the keys: a Markdown table, a sample file, and a JSON Schema.

use super::keys::{KEYS, Key};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;

/// Returns a Markdown table with a row per key.
#[must_use]
pub fn reference() -> String {
    let mut text = "| key | default | what it is for |\n|---|---|---|\n".to_owned();
    for key in KEYS {
        let default = match key.default.value {
            Ok(value) => format!("`{value}`"),
            Err(words) => words.to_owned(),
        };
        let secret = if key.secret { " Secret." } else { "" };
        let _ = writeln!(text, "| `{}` | {default} | {}{secret} |", key.path, key.about);
    }
    text
}

const HEAD: &str = "\
# Companion's configuration. Every key is shown with its default; take the # away to change it.
# The environment wins over this file: http.listen is also COMPANION_HTTP__LISTEN.
";

/// Returns a configuration file with every key, its purpose and its default, all commented out.
#[must_use]
pub fn sample() -> String {
    let mut text = HEAD.to_owned();
    let mut table = "";
    for key in KEYS {
        if key.table != table {
            table = key.table;
            let _ = write!(text, "\n[{table}]\n");
        }
        let _ = writeln!(text, "# {}", key.about);
        if let Some(variable) = key.file_variable() {
            let _ = writeln!(text, "# A secret; {variable} can name a file that holds it.");
        }
        match key.default.value {
            Ok(default) => {
                if default != key.example() {
                    let _ = writeln!(text, "# For example: {} = {}", key.name, key.example());
                }
                let _ = writeln!(text, "#{} = {default}", key.name);
            }
            Err(words) => {
                let _ = writeln!(text, "# Without a value: {words}. For example:");
                let _ = writeln!(text, "#{} = {}", key.name, key.example());
            }
        }
    }
    text
}

/// Returns a JSON Schema (draft 2020-12) that accepts every file that the program accepts, and contains every key.
#[must_use]
pub fn schema() -> Value {
    let mut tables = Map::new();
    for key in KEYS {
        let table = tables.entry(key.table).or_insert_with(|| closed(&Map::new()));
        if let Some(Value::Object(properties)) = table.get_mut("properties") {
            properties.insert(key.name.to_owned(), described(key));
        }
    }
    let mut schema = closed(&tables);
    if let Value::Object(schema) = &mut schema {
        schema.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        schema.insert("title".to_owned(), json!("Companion's configuration"));
    }
    schema
}

/// Returns the schema of a table with only these keys.
fn closed(properties: &Map<String, Value>) -> Value {
    json!({"type": "object", "properties": properties, "additionalProperties": false})
}

fn described(key: &Key) -> Value {
    let mut schema = (key.schema)();
    let Value::Object(fields) = &mut schema else { return schema };
    let secret = if key.secret { " Secret." } else { "" };
    fields.insert("description".to_owned(), json!(format!("{}{secret}", key.about)));
    if let Some(default) = key.default.value.ok().and_then(value) {
        fields.insert("default".to_owned(), default);
    }
    if let Some(example) = key.default.example.and_then(value) {
        fields.insert("examples".to_owned(), json!([example]));
    }
    schema
}

/// Converts a TOML value to JSON.
fn value(literal: &str) -> Option<Value> {
    let mut table: toml::Table = toml::from_str(&format!("value = {literal}")).ok()?;
    serde_json::to_value(table.remove("value")?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::configuration::tests::Given;

    #[test]
    fn the_uncommented_sample_loads_as_the_defaults() {
        let is_default = |line: &str, key: &Key| {
            key.default.value.is_ok_and(|value| line == format!("#{} = {value}", key.name))
        };
        let uncommented: Vec<_> = sample()
            .lines()
            .map(|line| {
                if KEYS.iter().any(|key| is_default(line, key)) {
                    line[1..].to_owned()
                } else {
                    line.to_owned()
                }
            })
            .collect();
        let given = Given::file(&uncommented.join("\n"));
        let written =
            uncommented.iter().filter(|line| line.contains(" = ") && !line.starts_with('#')).count();
        assert_eq!(written, KEYS.iter().filter(|key| key.default.value.is_ok()).count());
        assert_eq!(format!("{:?}", given.configuration()), format!("{:?}", Given::nothing().configuration()));
    }

    #[test]
    fn the_documentation_has_the_table_of_keys() {
        let page = include_str!("../../../../docs/configuration.md");
        let table = reference();
        assert!(page.contains(&table), "docs/configuration.md should have this table:\n{table}");
    }
}
