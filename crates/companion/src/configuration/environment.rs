//! The layer of the environment.

use super::{
    key::{FROM_FILE, Key, PREFIX, STEP},
    keys::KEYS,
    mistake::{Mistake, Source},
    nearest,
    raw::Raw,
    reader::Reader,
};
use std::{ffi::OsString, fmt, iter, path::PathBuf};

/// Variables by name.
pub type Variables = Vec<(OsString, OsString)>;

/// Takes every variable that is ours: those that begin with our prefix and have a path behind it. Others, such as
/// `COMPANION_BUILD_SHA`, mean nothing here.
pub(super) fn read(variables: &Variables, reader: &mut Reader) {
    let mut ours: Vec<_> = variables
        .iter()
        .filter_map(|(name, value)| Some((name.to_str()?, value)))
        .filter(|(name, _)| name.strip_prefix(PREFIX).is_some_and(|rest| rest.contains(STEP)))
        .collect();
    ours.sort();
    for (name, value) in ours {
        let given = match Meaning::of(name) {
            Meaning::Value(key) => word(name, value).map(|raw| (key, Source::Variable(name.to_owned()), raw)),
            Meaning::File(key) => secret(key, name, value, variables),
            Meaning::Unknown(mistake) => Err(mistake),
        };
        match given {
            Ok((key, source, raw)) => reader.give(key, source, raw),
            Err(mistake) => reader.mistakes.push(mistake),
        }
    }
}

/// A variable that is not read, though its name is nearly that of one of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadVariable {
    /// As it is spelled in the environment.
    pub name: String,
    /// The name that would be read.
    pub meant: String,
}

impl fmt::Display for UnreadVariable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is set, but not read: did you mean {}?", self.name, self.meant)
    }
}

/// Variables that differ from ours only in their underscores or in the case of their letters.
pub(super) fn unread(variables: &Variables) -> Vec<UnreadVariable> {
    let read: Vec<_> =
        KEYS.iter().flat_map(|key| iter::once(key.variable()).chain(key.file_variable())).collect();
    let mut unread: Vec<_> = variables
        .iter()
        .filter_map(|(name, _)| name.to_str())
        .filter_map(|name| {
            let meant = read.iter().find(|known| bare(known) == bare(name))?;
            (meant != name).then(|| UnreadVariable { name: name.to_owned(), meant: meant.clone() })
        })
        .collect();
    unread.sort_by(|a, b| a.name.cmp(&b.name));
    unread
}

/// A name without what people get wrong.
fn bare(name: &str) -> String {
    name.to_ascii_uppercase().replace('_', "")
}

enum Meaning {
    Value(&'static Key),
    File(&'static Key),
    Unknown(Mistake),
}

impl Meaning {
    fn of(name: &str) -> Self {
        let named = |name: &str| KEYS.iter().find(|key| key.variable() == name);
        if let Some(key) = named(name) {
            return Self::Value(key);
        }
        match name.strip_suffix(FROM_FILE).and_then(named) {
            Some(key) if key.secret => Self::File(key),
            Some(key) => Self::Unknown(Mistake {
                source: Source::Variable(name.to_owned()),
                key: key.path.to_owned(),
                problem: "is no secret, and only secrets are read from files".to_owned(),
                fix: format!("set {} itself", key.variable()),
            }),
            None => Self::Unknown(unknown(name)),
        }
    }
}

fn unknown(name: &str) -> Mistake {
    let path = name.strip_prefix(PREFIX).unwrap_or(name).to_ascii_lowercase().replace(STEP, ".");
    let fix = match nearest::key(&path) {
        Some(key) => format!("did you mean {}, which is {}?", key.path, key.variable()),
        None => nearest::choice(&path),
    };
    Mistake {
        source: Source::Variable(name.to_owned()),
        key: path,
        problem: "there is no such key".to_owned(),
        fix,
    }
}

fn word(name: &str, value: &OsString) -> Result<Raw, Mistake> {
    value.to_str().map(|text| Raw::Word(text.to_owned())).ok_or_else(|| Mistake {
        source: Source::Variable(name.to_owned()),
        key: name.to_owned(),
        problem: "is not valid UTF-8".to_owned(),
        fix: "set it to plain text".to_owned(),
    })
}

/// Reads a secret from the file that a variable names. Text editors end a file with a line break, so one is dropped.
fn secret(
    key: &'static Key,
    name: &str,
    path: &OsString,
    variables: &Variables,
) -> Result<(&'static Key, Source, Raw), Mistake> {
    let path = PathBuf::from(path);
    let source = Source::SecretFile(name.to_owned(), path.clone());
    let mistake = |problem: String, fix: String| Mistake {
        source: source.clone(),
        key: key.path.to_owned(),
        problem,
        fix,
    };
    let variable = key.variable();
    if variables.iter().any(|(other, _)| *other == *variable) {
        return Err(mistake(
            format!("is set twice, by {variable} too"),
            format!("unset {variable} or {name}"),
        ));
    }
    let text = std::fs::read_to_string(&path).map_err(|error| {
        mistake(format!("cannot be read from its file: {error}"), format!("let {name} name a readable file"))
    })?;
    let text = text.strip_suffix('\n').map_or(text.as_str(), |line| line.strip_suffix('\r').unwrap_or(line));
    Ok((key, source, Raw::Word(text.to_owned())))
}
