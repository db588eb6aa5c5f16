//! Settings of the dashboard: its look, and permissions in the bot's own words.

use super::{
    error::{KeyError, ValueError, most_similar},
    files::open_regular,
    keys::Dashboard,
    setting::{Setting, entries, fields, line, quoted, text},
};
use companion_dashboard::{Accent, AccentError, Feature, Logo, PermissionText, PermissionTexts};
use companion_domain::policy::Permission;
use serde_json::json;
use std::io::Read as _;
use toml::Value;

/// A field of a table with text on one line, and how many characters it may have.
type Field = (&'static str, usize);

/// Reads a table of optional fields. Fails if it has others.
fn lines<const N: usize>(
    value: &Value,
    what: &str,
    known: [Field; N],
) -> Result<[Option<String>; N], ValueError> {
    let given = fields(value, what, known.map(|(name, _)| name))?;
    let mut read = [const { None }; N];
    for ((text, value), (name, most)) in read.iter_mut().zip(given).zip(known) {
        let line = value.map(|value| line(value, most)).transpose();
        *text = line.map_err(|error| error.within(name))?.map(|line| line.to_string());
    }
    Ok(read)
}

/// Returns the schema of a table with these fields.
fn schema_of<const N: usize>(known: [Field; N], required: &[&str]) -> serde_json::Value {
    let field = |(name, _): Field| (name.to_owned(), json!({"type": "string", "minLength": 1}));
    let properties: serde_json::Map<_, _> = known.into_iter().map(field).collect();
    json!({
        "type": "object", "properties": properties, "required": required, "additionalProperties": false, "minProperties": 1
    })
}

const MAX_FEATURES: usize = 6;
const FEATURE: [Field; 2] = [("title", 60), ("text", 240)];

/// What the bot can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Features(pub Vec<Feature>);

impl Setting for Features {
    fn read(value: &Value) -> Result<Self, ValueError> {
        let features = Vec::read(value)?;
        match features.len() {
            0..=MAX_FEATURES => Ok(Self(features)),
            _ => Err(ValueError::must_be(format_args!("a list of up to {MAX_FEATURES} features"))),
        }
    }

    fn schema() -> serde_json::Value {
        json!({"type": "array", "maxItems": MAX_FEATURES, "items": Feature::schema()})
    }
}

impl Setting for Feature {
    fn read(value: &Value) -> Result<Self, ValueError> {
        let what = "a table with title and text";
        match lines(value, what, FEATURE)? {
            [Some(title), Some(text)] => Ok(Self { title, text }),
            _ => Err(ValueError::must_be(what)),
        }
    }

    fn schema() -> serde_json::Value {
        schema_of(FEATURE, &["title", "text"])
    }
}

const PERMISSION: [Field; 3] = [("label", 40), ("about", 160), ("group", 40)];

/// Texts of permissions, and those that are hidden.
impl Setting for PermissionTexts {
    fn read(value: &Value) -> Result<Self, ValueError> {
        let what = "a table from a permission to false or { label, about, group }";
        let entries = entries(value, what, |name, value| {
            let permission = name.parse().map_err(|_| {
                let known = Permission::ALL.iter().map(|known| known.as_str());
                let meant = most_similar(&name.to_ascii_uppercase(), known);
                ValueError::new(format!("names no permission; did you mean {meant}?"))
            })?;
            Ok((permission, permission_text(value)?))
        });
        Ok(entries?.into_iter().collect())
    }

    fn schema() -> serde_json::Value {
        let names: Vec<_> = Permission::ALL.iter().map(|permission| permission.as_str()).collect();
        json!({
            "type": "object", "propertyNames": {"enum": names},
            "additionalProperties": {"anyOf": [{"const": false}, schema_of(PERMISSION, &[])]},
        })
    }
}

/// Reads the text of a permission. `None` hides it.
fn permission_text(value: &Value) -> Result<Option<PermissionText>, ValueError> {
    if value.as_bool() == Some(false) {
        return Ok(None);
    }
    let what = "false, which hides the permission, or a table with label, about or group";
    match lines(value, what, PERMISSION)? {
        [None, None, None] => Err(ValueError::must_be(what)),
        [label, about, group] => Ok(Some(PermissionText { label, about, group })),
    }
}

impl Setting for Accent {
    const PATTERN: &str = "^#[0-9A-Fa-f]{6}$";

    fn read(value: &Value) -> Result<Self, ValueError> {
        text(value)?.parse().map_err(|error: AccentError| {
            let words = ValueError::new(error.to_string());
            match error {
                AccentError::Malformed => words,
                AccentError::Unreadable { nearest, .. } => words.with_example(quoted(&nearest)),
            }
        })
    }
}

/// Reads the configured logo. Returns `None` if there is none.
pub(crate) fn read_logo(dashboard: &Dashboard) -> Result<Option<Logo>, KeyError> {
    let Some(path) = &dashboard.logo_file else { return Ok(None) };
    let refused = |problem: String| {
        let problem = format!("{} {problem}", path.display());
        let fix = "name a PNG, SVG or WebP file of at most 64 KiB that the service may read";
        KeyError::together("dashboard.logo_file", problem, fix)
    };
    let mut content = Vec::new();
    let limit = Logo::MAX_BYTES as u64 + 1;
    let read = open_regular(path).and_then(|file| file.take(limit).read_to_end(&mut content));
    read.map_err(|error| refused(format!("cannot be read: {error}")))?;
    Logo::new(content).map(Some).map_err(|error| refused(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::configuration::tests::Given;
    use std::fs;

    #[test]
    fn an_accent_that_cannot_be_read_is_corrected() {
        let error = Given::file("[dashboard]\naccent = '#ffcc00'").error();
        assert_eq!(error.key, "dashboard.accent");
        assert!(error.problem.contains("has a contrast of 1."), "{error}");
        let (_, fixed) = error.fix.split_once('"').unwrap();
        let fixed = fixed.split_once('"').unwrap().0;
        assert_eq!(Given::file(&format!("[dashboard]\naccent = '{fixed}'")).errors(), []);
        assert_eq!(
            Given::file("[dashboard]\naccent = 'red'").error().problem,
            "must be a colour like #3A3FD0"
        );
    }

    #[test]
    fn features_have_a_title_and_a_text() {
        let one = "{ title = 'A', text = 'B' }";
        let six = [one; 6].join(", ");
        let given = Given::file(&format!("[dashboard]\nfeatures = [{six}]"));
        assert_eq!(given.configuration().dashboard.features.0.len(), 6);
        for wrong in [
            &format!("[{six}, {one}]"),
            "[{ title = 'A' }]",
            "[{ title = '', text = 'B' }]",
            "['A']",
            "[{ icon = 'x', title = 'A', text = 'B' }]",
        ] {
            assert_eq!(
                Given::file(&format!("[dashboard]\nfeatures = {wrong}")).error().key,
                "dashboard.features"
            );
        }
    }

    #[test]
    fn a_logo_must_be_a_readable_picture() {
        let folder = tempfile::tempdir().unwrap();
        let logo = |content: Option<&[u8]>| {
            let path = folder.path().join("logo");
            let _ = fs::remove_file(&path);
            if let Some(content) = content {
                fs::write(&path, content).unwrap();
            }
            let given = Given::file(&format!("[dashboard]\nlogo_file = '{}'", path.display()));
            read_logo(&given.configuration().dashboard).map_err(|error| error.problem)
        };
        assert!(logo(Some(b"<svg/>")).unwrap().is_some());
        assert!(logo(Some(b"GIF89a")).unwrap_err().ends_with("is neither PNG nor SVG nor WebP"));
        assert!(logo(Some(&[0; 70_000])).unwrap_err().ends_with("is larger than 64 KiB"));
        assert!(logo(None).unwrap_err().contains("cannot be read: "));
    }

    fn words(toml: &str) -> Result<PermissionTexts, String> {
        PermissionTexts::read(&toml.parse().unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn reads_texts_and_hidden_permissions() {
        let toml =
            r#"{ SESSION_STARTER = { label = " Shift lead ", group = "Shifts" }, ERLC_LINKED = false }"#;
        let texts = words(toml).unwrap();
        assert_eq!(texts[&Permission::ErlcLinked], None);
        let text = texts[&Permission::SessionStarter].clone().unwrap();
        assert_eq!((text.label.as_deref(), text.about), (Some("Shift lead"), None));
        assert!(words("{}").unwrap().is_empty());
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
            let error = words(toml).unwrap_err();
            assert!(error.contains(said), "{toml}: {error}");
        }
    }
}
