//! Keys of the management API that cannot be read, or that nobody could tell apart.

use super::{
    keys::Management,
    kind::{KeySource, ScopedKey},
    mistake::{Mistake, Source},
};

const KEYS: &str = "management.keys";
const NEW_KEY: &str = "give each its own, the output of: openssl rand -base64 32";

/// What is wrong with the keys of the management API as they are now, files included.
pub(super) fn find(management: &Management) -> Vec<Mistake> {
    let all = management.key.iter().flat_map(|keys| std::iter::once(&keys.first).chain(&keys.others));
    let mut known: Vec<_> = all.map(|key| (key.0.clone(), "management.key".to_owned())).collect();
    let mut mistakes = Vec::new();
    for ScopedKey { name, source, .. } in &management.keys.0 {
        let key = match source.read() {
            Ok(key) => key.0,
            Err(refusal) => {
                mistakes.push(mistake(format!("entry \"{name}\" {refusal}"), &unreadable(source)));
                continue;
            }
        };
        match known.iter().find(|(other, _)| *other == key) {
            Some((_, other)) => {
                mistakes.push(mistake(format!("entry \"{name}\" has the same key as {other}"), NEW_KEY));
            }
            None => known.push((key, format!("entry \"{name}\""))),
        }
    }
    mistakes
}

fn unreadable(source: &KeySource) -> String {
    match source {
        KeySource::File(path) => format!("write a key into it: openssl rand -base64 32 > {}", path.display()),
        KeySource::Written(_) => NEW_KEY.to_owned(),
    }
}

fn mistake(problem: String, fix: &str) -> Mistake {
    Mistake { source: Source::Together, key: KEYS.to_owned(), problem, fix: fix.to_owned() }
}
