//! What the program says, kept in the documentation.
//!
//! Each transcript is the first console block under its heading. To write all of them anew, run the tests one at a time with
//! `COMPANION_WRITE_TRANSCRIPTS=1`, and look at what has changed.

use crate::program::Finished;
use std::{fs, path::Path};

/// What stands in a transcript for what differs from run to run.
pub(crate) struct Normal(Vec<(String, String)>);

impl Normal {
    pub(crate) fn new(replacements: &[(&str, &str)]) -> Self {
        let mut pairs: Vec<_> =
            replacements.iter().map(|(from, to)| ((*from).to_owned(), (*to).to_owned())).collect();
        // The longest first, so that no part of it is replaced before.
        pairs.sort_by_key(|(from, _)| std::cmp::Reverse(from.len()));
        Self(pairs)
    }

    fn of(&self, text: &str) -> String {
        let text = self.0.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from.as_str(), to));
        let lines = text.lines().map(|line| millis(&reported(&timeless(line))));
        lines.map(|line| line.trim_end().to_owned() + "\n").collect()
    }
}

/// The line without the time at which it was logged.
fn timeless(line: &str) -> String {
    match line.split_once("Z ") {
        Some((time, rest)) if time.starts_with("20") && !time.contains(' ') => {
            format!("2026-01-31T12:00:00.000000Z {rest}")
        }
        _ => line.to_owned(),
    }
}

/// The line with the bot having reported at the same time ago.
fn reported(line: &str) -> String {
    match line.split_once("it reported ").and_then(|(head, rest)| Some((head, rest.split_once(" ago")?.1))) {
        Some((head, tail)) => format!("{head}it reported 2 s ago{tail}"),
        None => line.to_owned(),
    }
}

/// The line with the same number of milliseconds, whatever it was.
fn millis(line: &str) -> String {
    let parts: Vec<_> = line.split(" ms").collect();
    let last = parts.len() - 1;
    let steady = |(place, part): (usize, &&str)| match place == last {
        true => (*part).to_owned(),
        false => format!("{}4 ms", part.trim_end_matches(|c: char| c.is_ascii_digit())),
    };
    parts.iter().enumerate().map(steady).collect()
}

/// A command and what came of it, as a terminal shows it.
pub(crate) fn transcript(command: &str, finished: &Finished, normal: &Normal) -> String {
    format!("$ {command}\n{}{}", normal.of(&finished.out), normal.of(&finished.err))
}

/// Compares a transcript with the one under a heading of a page.
#[track_caller]
pub(crate) fn compare(page: &str, heading: &str, transcript: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    let text = fs::read_to_string(&file).unwrap();
    let start = text.find(&format!("\n{heading}\n")).unwrap_or_else(|| panic!("{page} lacks {heading:?}"));
    let open = "```console\n";
    let start = start + text[start..].find(open).unwrap() + open.len();
    let end = start + text[start..].find("```\n").unwrap();
    if std::env::var_os("COMPANION_WRITE_TRANSCRIPTS").is_some() {
        fs::write(&file, format!("{}{transcript}{}", &text[..start], &text[end..])).unwrap();
        return;
    }
    assert!(
        text[start..end] == *transcript,
        "{page} has under {heading:?}:\n{}\nbut it is now:\n{transcript}",
        &text[start..end]
    );
}
