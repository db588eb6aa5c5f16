//! Settings of the dashboard's look.

use super::{
    error::{KeyError, ValueError},
    files::open_regular,
    keys::Dashboard,
    raw::Raw,
    setting::{Setting, line, quoted},
};
use companion_dashboard::{Accent, AccentError, Feature, Logo};
use serde_json::{Value, json};
use std::io::Read as _;

const MAX_FEATURES: usize = 6;

/// What the bot can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Features(pub Vec<Feature>);

impl Setting for Features {
    fn read(raw: &Raw) -> Result<Self, ValueError> {
        let features = Vec::read(raw)?;
        match features.len() {
            0..=MAX_FEATURES => Ok(Self(features)),
            _ => Err(ValueError::must_be(format_args!("a list of up to {MAX_FEATURES} features"))),
        }
    }

    fn show(&self) -> String {
        self.0.show()
    }

    fn schema() -> Value {
        json!({"type": "array", "maxItems": MAX_FEATURES, "items": Feature::schema()})
    }
}

impl Setting for Feature {
    fn read(raw: &Raw) -> Result<Self, ValueError> {
        let what = "a table with title and text";
        let [Some(title), Some(text)] = raw.fields(what, ["title", "text"])? else {
            return Err(ValueError::must_be(what));
        };
        let read = |name: &str, raw: &Raw, most| match line(raw, most) {
            Ok(line) => Ok(line.to_string()),
            Err(error) => Err(error.within(name)),
        };
        Ok(Self { title: read("title", &title, 60)?, text: read("text", &text, 240)? })
    }

    fn show(&self) -> String {
        format!("{{ title = {}, text = {} }}", quoted(&self.title), quoted(&self.text))
    }

    fn schema() -> Value {
        let text = json!({"type": "string", "minLength": 1});
        json!({"type": "object", "required": ["title", "text"], "additionalProperties": false,
            "properties": {"title": text, "text": text}})
    }
}

impl Setting for Accent {
    const PATTERN: &str = "^#[0-9A-Fa-f]{6}$";

    fn read(raw: &Raw) -> Result<Self, ValueError> {
        raw.text()?.parse().map_err(|error: AccentError| {
            let words = ValueError::new(error.to_string());
            match error {
                AccentError::Malformed => words,
                AccentError::Unreadable { nearest, .. } => words.with_example(quoted(&nearest)),
            }
        })
    }

    fn show(&self) -> String {
        quoted(self)
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
        assert!(given.effective("dashboard.features").1.starts_with("[{ title = \"A\", text = \"B\" }, "));
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
}
