//! The configuration file as JSON Schema, so that editors help to write it.

use super::{
    key::{Fallback, Key},
    keys::KEYS,
};
use serde_json::{Map, Value, json};

/// A schema of draft 2020-12 that accepts every file that the program accepts, and knows every key.
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

/// A table with these keys and no others.
fn closed(properties: &Map<String, Value>) -> Value {
    json!({"type": "object", "properties": properties, "additionalProperties": false})
}

fn described(key: &Key) -> Value {
    let mut schema = (key.schema)();
    let Value::Object(fields) = &mut schema else { return schema };
    let secret = if key.secret { " Secret." } else { "" };
    fields.insert("description".to_owned(), json!(format!("{}{secret}", key.about)));
    if let Some(default) = key.without_a_value().ok().and_then(value) {
        fields.insert("default".to_owned(), default);
    }
    // Nobody should take a key from an example.
    if !matches!(key.default, Fallback::Made)
        && let Some(example) = value(key.example())
    {
        fields.insert("examples".to_owned(), json!([example]));
    }
    schema
}

/// A value of a file as JSON has it.
fn value(literal: &str) -> Option<Value> {
    let mut table: toml::Table = toml::from_str(&format!("value = {literal}")).ok()?;
    serde_json::to_value(table.remove("value")?).ok()
}
