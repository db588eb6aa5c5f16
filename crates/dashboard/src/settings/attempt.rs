//! What the inputs of a field contain, and a section as a user sent it: what was changed, what is wrong, and what another
//! user changed meanwhile.

use crate::{asset::short_hash, form::Form};
use actix_web::http::StatusCode;
use companion_domain::{
    settings::{Field, FieldType, PartKey, Section, SettingKey, Stored, Value},
    usecase::SentValues,
};
use std::collections::BTreeMap;

/// The texts in the inputs of one field, without empty ones: a browser sends them back unless the user changes them. Those of an unset field are none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Typed(Vec<String>);

impl Typed {
    /// Returns what the inputs of a field with this value contain.
    pub(crate) fn of(field: &Field, value: Option<&Value>) -> Self {
        match value {
            None => Self::default(),
            Some(Value::Boolean(value)) => Self(vec![value.to_string()]),
            Some(Value::Number(value)) => Self(vec![value.to_string()]),
            Some(Value::Text(text)) => Self::sent(field, [&**text]),
            Some(Value::List(items)) => Self::sent(field, items.iter().map(|item| &**item)),
        }
    }

    /// Reads what a browser sent. It writes line breaks as CRLF, whatever they were.
    pub(crate) fn sent<'a>(field: &Field, texts: impl IntoIterator<Item = &'a str>) -> Self {
        let one_per_line = field.many.is_some() && !matches!(field.field_type, FieldType::Choice { .. });
        let texts = texts.into_iter().map(|text| text.replace("\r\n", "\n").replace('\r', "\n"));
        let split = texts.flat_map(|text| {
            if one_per_line { text.split('\n').map(str::to_owned).collect() } else { vec![text] }
        });
        Self(split.filter(|text| !text.is_empty()).collect())
    }

    /// Returns whether this is one of the texts.
    pub(crate) fn has(&self, text: &str) -> bool {
        self.0.iter().any(|typed| typed == text)
    }

    /// Returns the texts, in order.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Returns the content of a single input, one text per line.
    pub(crate) fn joined(&self) -> String {
        self.0.join("\n")
    }

    /// Returns a fingerprint, equal on all nodes: a form carries it instead of the value that it was rendered with.
    pub(crate) fn fingerprint(&self) -> String {
        // No value contains NUL.
        if self.0.is_empty() { String::new() } else { short_hash(self.0.join("\0").as_bytes()) }
    }

    /// Parses the value. `None` returns the field to its default.
    ///
    /// # Errors
    /// What the value must be, as a sentence.
    pub(crate) fn parse(&self, field: &Field) -> Result<Option<Value>, String> {
        let Some(first) = self.0.first() else { return Ok(emptied(field)) };
        let value = match (&field.field_type, field.many) {
            (_, Some(_)) => Some(Value::List(self.0.iter().map(|text| text.as_str().into()).collect())),
            (FieldType::Boolean, None) => first.parse().ok().map(Value::Boolean),
            (FieldType::Integer(_) | FieldType::Number(_), None) => {
                first.trim().parse().ok().and_then(Value::number)
            }
            (
                FieldType::Text { .. }
                | FieldType::Choice { .. }
                | FieldType::Color
                | FieldType::Channel { .. }
                | FieldType::Role,
                None,
            ) => Some(Value::Text(first.as_str().into())),
        };
        // Text in place of a boolean or a number is refused with the words of its type.
        let value = value.unwrap_or_else(|| Value::Text(first.as_str().into()));
        match field.check(&value) {
            Ok(()) => Ok(Some(value)),
            Err(error) => Err(match error.path.trim_matches(['[', ']']).parse::<usize>() {
                Ok(place) => format!("Entry {} of {} {}.", place + 1, field.title, error.message),
                Err(_) => format!("{} {}.", field.title, error.message),
            }),
        }
    }
}

/// Returns the value of a field whose inputs are empty: its default, except for check boxes that can be cleared although
/// the default is not empty.
fn emptied(field: &Field) -> Option<Value> {
    let has_boxes = !matches!(field.field_type, FieldType::Text { .. }) && field.many.is_some();
    let empty = Value::List(Vec::new());
    let differs = field.default.as_ref().is_some_and(|default| *default != empty);
    (has_boxes && differs && field.check(&empty).is_ok()).then_some(empty)
}

/// A section as it was sent.
pub(crate) struct Attempt {
    pub(crate) section: PartKey,
    /// The fields that the form had.
    pub(crate) entries: BTreeMap<PartKey, Entry>,
}

/// A field as it was sent.
pub(crate) struct Entry {
    pub(crate) typed: Typed,
    /// Fingerprint of what the form was rendered with first.
    pub(crate) was: String,
    pub(crate) is_reset: bool,
    /// Fingerprint of the value over which the user chose their own, after a conflict.
    over: Option<String>,
    /// Whether the user chose the value of the other user.
    takes_theirs: bool,
    pub(crate) mistake: Option<String>,
    /// The value that the user wants, if another user set another one meanwhile.
    pub(crate) conflict: Option<Option<Value>>,
}

impl Attempt {
    /// Reads the fields that the form had. A field that was published since is not among them.
    pub(crate) fn read(section: &Section, form: &Form) -> Self {
        let resets_all = form.get("reset") == "section";
        let entry = |field: &Field| {
            let value = |prefix: &str| form.all(format!("{prefix}.{}", field.key.as_str()));
            let was = value("was").next()?.to_owned();
            let chosen = value("choose").next();
            let entry = Entry {
                typed: Typed::sent(field, value("value")),
                was,
                is_reset: resets_all || value("reset").next().is_some(),
                over: value("theirs").next().filter(|_| chosen == Some("mine")).map(str::to_owned),
                takes_theirs: chosen == Some("theirs"),
                mistake: None,
                conflict: None,
            };
            Some((field.key.clone(), entry))
        };
        Self { section: section.key.clone(), entries: section.fields.iter().filter_map(entry).collect() }
    }

    /// Returns the values to change: of the fields that the user changed, and only of those. Notes at the entries what is
    /// wrong, and what another user changed to something else since the form was rendered.
    pub(crate) fn changes(&mut self, section: &Section, stored: &Stored) -> SentValues {
        let mut values = SentValues::new();
        for field in &section.fields {
            let Some(entry) = self.entries.get_mut(&field.key) else { continue };
            let key = SettingKey::new(&section.key, &field.key);
            let current = field.valid(stored.values.get(&key));
            if !entry.is_changed() {
                continue;
            }
            let now = Typed::of(field, current).fingerprint();
            // The user saw this value and chose their own, so it is no conflict any more.
            if entry.over.as_ref() == Some(&now) {
                entry.was.clone_from(&now);
            }
            match if entry.is_reset { Ok(None) } else { entry.typed.parse(field) } {
                Err(mistake) => entry.mistake = Some(mistake),
                Ok(value) if value.as_ref() == current => {}
                Ok(value) if entry.was == now => drop(values.insert(key, value)),
                Ok(value) => entry.conflict = Some(value),
            }
        }
        values
    }

    /// Returns why nothing can be saved, if so: the status and the words.
    pub(crate) fn obstacle(&self) -> Option<(StatusCode, String)> {
        let is_any = |is: fn(&Entry) -> bool| self.entries.values().any(is);
        let (status, words) = if is_any(|entry| entry.mistake.is_some()) {
            (StatusCode::UNPROCESSABLE_ENTITY, "Correct these fields, and save again:")
        } else if is_any(|entry| entry.conflict.is_some()) {
            (StatusCode::CONFLICT, "These fields were changed meanwhile. Choose a value, and save again:")
        } else {
            return None;
        };
        Some((status, format!("Nothing was saved yet. {words}")))
    }
}

impl Entry {
    /// Returns whether the user changed the field, and did not take the value of the other user instead.
    pub(crate) fn is_changed(&self) -> bool {
        (self.is_reset || self.typed.fingerprint() != self.was) && !self.takes_theirs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn field(mut options: serde_json::Value) -> Field {
        options["key"] = "field".into();
        options["title"] = "Field".into();
        serde_json::from_value(options).unwrap()
    }

    fn many(field_type: &str) -> Field {
        field(json!({"type": field_type, "many": {"max": 3}}))
    }

    fn parsed(field: &Field, sent: &[&str]) -> serde_json::Value {
        let parsed = Typed::sent(field, sent.iter().copied()).parse(field);
        parsed.map_or_else(Into::into, |value| json!(value))
    }

    #[test]
    fn parses_odd_input() {
        for (options, sent, expected) in [
            (json!({"type": "boolean"}), "maybe", json!("Field must be true or false.")),
            (json!({"type": "integer"}), " 5 ", json!(5)),
            (json!({"type": "number"}), "NaN", json!("Field must be a number.")),
            (json!({"type": "text"}), " kept ", json!(" kept ")),
            (json!({"type": "text", "multiline": true}), "a\r\nb\rc", json!("a\nb\nc")),
            (json!({"type": "text", "default": "x"}), "", json!(null)),
        ] {
            assert_eq!(parsed(&field(options), &[sent]), expected, "{sent}");
        }
        assert_eq!(parsed(&many("text"), &["a\r\n\r\nb"]), json!(["a", "b"]));
        assert!(parsed(&many("role"), &["1", "x"]).as_str().unwrap().starts_with("Entry 2 of Field must be"));
    }

    #[test]
    fn cleared_boxes_are_empty_only_if_the_default_is_not() {
        assert_eq!(parsed(&many("role"), &[]), json!(null));
        let with_default = field(json!({"type": "role", "many": {"max": 3}, "default": ["1"]}));
        assert_eq!(parsed(&with_default, &[]), json!([]));
    }

    #[test]
    fn what_a_browser_sends_back_is_unchanged() {
        for (field, value) in [
            (many("text"), json!(["line\r\nline\rline\n", "", " blank "])),
            (field(json!({"type": "text", "multiline": true})), json!("\na\rb\r\n")),
            (field(json!({"type": "number"})), json!(1e21)),
        ] {
            let value: Value = serde_json::from_value(value).unwrap();
            let shown = Typed::of(&field, Some(&value));
            let back = shown.joined().replace('\n', "\r\n");
            assert_eq!(Typed::sent(&field, [back.as_str()]).fingerprint(), shown.fingerprint());
        }
    }
}
