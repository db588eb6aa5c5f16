//! What careless adapters do to text.

use companion_domain::model::{Name, Prose};

/// How text is changed on its way in.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Spoilt {
    /// Blanks at both ends go.
    Trimmed,
    /// A letter and its accent become one character.
    Composed,
    /// Control characters go.
    Stripped,
    /// 255 bytes stay.
    Cut,
    /// Every run of blanks becomes one.
    Collapsed,
}

impl Spoilt {
    fn text(self, text: &str) -> String {
        match self {
            Self::Trimmed => text.trim().to_owned(),
            Self::Composed => text.replace("e\u{301}", "é"),
            Self::Stripped => text
                .chars()
                .filter(|one| !one.is_control() || *one == '\t' || *one == '\n' || *one == '\r')
                .collect(),
            Self::Cut => {
                let end = (0..=text.len().min(255)).rev().find(|end| text.is_char_boundary(*end));
                text.chars()
                    .scan(0, |bytes, one| {
                        *bytes += one.len_utf8();
                        (*bytes <= end.unwrap_or_default()).then_some(one)
                    })
                    .collect()
            }
            Self::Collapsed => {
                let mut last = 'x';
                text.chars()
                    .filter(|one| {
                        let keep = *one != ' ' || last != ' ';
                        last = *one;
                        keep
                    })
                    .collect()
            }
        }
    }

    pub(crate) fn name(self, name: &Name) -> Name {
        self.text(name.as_str()).parse().unwrap_or_else(|_| name.clone())
    }

    pub(crate) fn prose(self, prose: &Prose) -> Prose {
        self.text(prose.as_str()).parse().unwrap_or_else(|_| prose.clone())
    }
}

/// Whether a database that takes an underscore for any character would find this text.
pub(crate) fn matches_pattern(text: &str, pattern: &str) -> bool {
    text.len() == pattern.len()
        && text.chars().zip(pattern.chars()).all(|(one, any)| one == any || any == '_')
}
