//! The key `dashboard.permissions`: permissions in the bot's own words.

use super::{
    error::{ValueError, most_similar},
    raw::Raw,
    setting::{Setting, line, quoted, show_table},
};
use companion_dashboard::{PermissionText, PermissionTexts};
use companion_domain::policy::Permission;
use serde_json::{Value, json};

/// Texts of permissions, and those that are hidden.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PermissionWords(pub PermissionTexts);

/// The fields of an entry, and how many characters each may have.
const FIELDS: [(&str, usize); 3] = [("label", 40), ("about", 160), ("group", 40)];

impl Setting for PermissionWords {
    fn read(raw: &Raw) -> Result<Self, ValueError> {
        let what = "a table from a permission to false or { label, about, group }";
        let entries = raw.entries(what, |name, raw| {
            let permission = name.parse().map_err(|_| {
                let known = Permission::ALL.iter().map(|known| known.as_str());
                let meant = most_similar(&name.to_ascii_uppercase(), known);
                ValueError::new(format!("names no permission; did you mean {meant}?"))
            })?;
            Ok((permission, read_text(raw)?))
        });
        Ok(Self(entries?.into_iter().collect()))
    }

    fn schema() -> Value {
        let field = |(name, most): (&str, usize)| {
            (name.to_owned(), json!({"type": "string", "minLength": 1, "maxLength": most}))
        };
        let fields: serde_json::Map<_, _> = FIELDS.map(field).into_iter().collect();
        let names: Vec<_> = Permission::ALL.iter().map(|permission| permission.as_str()).collect();
        let text = json!({"type": "object", "properties": fields, "additionalProperties": false, "minProperties": 1});
        json!({
            "type": "object", "propertyNames": {"enum": names},
            "additionalProperties": {"anyOf": [{"const": false}, text]},
        })
    }

    fn show(&self) -> String {
        let entry = |(permission, text): (&Permission, &Option<PermissionText>)| {
            let Some(PermissionText { label, about, group }) = text else {
                return format!("{permission} = false");
            };
            let fields = FIELDS.iter().zip([label, about, group]);
            let fields =
                fields.filter_map(|((name, _), text)| Some(format!("{name} = {}", quoted(text.as_ref()?))));
            format!("{permission} = {{ {} }}", fields.collect::<Vec<_>>().join(", "))
        };
        show_table(self.0.iter().map(entry))
    }
}

/// Reads the text of a permission. `None` hides it.
fn read_text(raw: &Raw) -> Result<Option<PermissionText>, ValueError> {
    if raw.boolean() == Some(false) {
        return Ok(None);
    }
    let what = "false, which hides the permission, or a table with label, about or group";
    let fields = raw.fields(what, FIELDS.map(|(name, _)| name))?;
    if fields.iter().all(Option::is_none) {
        return Err(ValueError::must_be(what));
    }
    let read = |raw: &Option<Raw>, (name, most): (&str, usize)| -> Result<Option<String>, ValueError> {
        let text = raw.as_ref().map(|raw| line(raw, most)).transpose();
        Ok(text.map_err(|error| error.within(name))?.map(|text| text.to_string()))
    };
    let ([label, about, group], [of_label, of_about, of_group]) = (&fields, FIELDS);
    Ok(Some(PermissionText {
        label: read(label, of_label)?,
        about: read(about, of_about)?,
        group: read(group, of_group)?,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(toml: &str) -> Result<PermissionWords, String> {
        PermissionWords::read(&Raw::from_toml(toml).unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn reads_texts_and_hidden_permissions() {
        let toml = r#"{ SESSION_STARTER = { label = "Shift lead", group = "Shifts" }, ERLC_LINKED = false }"#;
        let words = read(toml).unwrap();
        let shown =
            r#"{ SESSION_STARTER = { label = "Shift lead", group = "Shifts" }, ERLC_LINKED = false }"#;
        assert_eq!(words.show(), shown);
        assert_eq!(read(&words.show()), Ok(words.clone()));
        assert_eq!(words.0[&Permission::ErlcLinked], None);
        let json =
            r#"{"ERLC_LINKED": false, "SESSION_STARTER": {"label": " Shift lead ", "group": "Shifts"}}"#;
        assert_eq!(PermissionWords::read(&Raw::Word(json.to_owned())).unwrap(), words);
        assert_eq!(read("{}").unwrap().show(), "{}");
    }

    #[test]
    fn names_what_is_wrong() {
        let long = format!("{{ MOD = {{ label = \"{}\" }} }}", "x".repeat(41));
        for (toml, said) in [
            ("[]", "must be a table from a permission to false or { label, about, group }"),
            ("{ MODD = false }", "entry \"MODD\" names no permission; did you mean MOD?"),
            ("{ mod = false }", "entry \"mod\" names no permission; did you mean MOD?"),
            ("{ MOD = true }", "entry \"MOD\" must be false, which hides the permission, or a table"),
            ("{ MOD = {} }", "entry \"MOD\" must be false"),
            ("{ MOD = { name = \"x\" } }", "entry \"MOD\" has no name; did you mean"),
            ("{ MOD = { label = 5 } }", "entry \"MOD\" label must be text"),
            (
                "{ MOD = { about = \" \" } }",
                "entry \"MOD\" about must be text of 1 to 160 characters on one line",
            ),
            (&long, "entry \"MOD\" label must be text of 1 to 40 characters on one line"),
        ] {
            let error = read(toml).unwrap_err();
            assert!(error.contains(said), "{toml}: {error}");
        }
    }
}
