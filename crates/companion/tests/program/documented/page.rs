//! The pages of the repository, and what stands between their fences.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The repository.
pub(super) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The text of a file of the repository.
pub(super) fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Every file below a folder with this ending, without what was built or installed.
pub(super) fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let ours = name == ".github" || !["target", "node_modules"].contains(&name) && !name.starts_with('.');
        if path.is_dir() && ours {
            found.extend(files(&path, ending));
        } else if name.ends_with(ending) {
            found.push(path);
        }
    }
    found
}

/// Something between two fences: the words behind the first one, and the lines up to the second.
pub(super) struct Block {
    pub(super) words: Vec<String>,
    pub(super) lines: Vec<String>,
}

/// A page without its blocks, line by line, and the blocks.
pub(super) fn split(page: &str) -> (Vec<&str>, Vec<Block>) {
    let (mut prose, mut blocks, mut inside) = (Vec::new(), Vec::<Block>::new(), false);
    for line in page.lines() {
        match line.trim_start().strip_prefix("```") {
            Some(_) if inside => inside = false,
            Some(words) => {
                inside = true;
                let words = words.split_whitespace().map(str::to_owned).collect();
                blocks.push(Block { words, lines: Vec::new() });
            }
            None if inside => blocks.last_mut().unwrap().lines.push(line.trim().to_owned()),
            None => prose.push(line),
        }
    }
    (prose, blocks)
}
