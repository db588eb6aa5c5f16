//! Every piece of code in the documentation stands in a source file that is compiled, and every command exists.

use companion::configuration::{ConfigurationFile, Layers, load};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// A piece of a page between two fences.
struct Snippet {
    page: String,
    language: String,
    lines: Vec<String>,
}

impl Snippet {
    fn text(&self) -> String {
        self.lines.join("\n")
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Every file below a folder with this ending, without what was built.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            found.extend(files(&path, ending));
        } else if name.ends_with(ending) {
            found.push(path);
        }
    }
    found
}

/// Lines without what differs between a page and a file: indentation, and lines with nothing on them.
fn bare(text: &str) -> Vec<String> {
    text.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
}

fn snippets(language: &str) -> Vec<Snippet> {
    let mut pages = files(&root().join("docs"), ".md");
    pages.push(root().join("README.md"));
    let found = pages.iter().flat_map(|page| {
        let text = fs::read_to_string(page).unwrap();
        let name = page.file_name().unwrap().to_str().unwrap().to_owned();
        let mut snippets: Vec<Snippet> = Vec::new();
        let mut inside = false;
        for line in text.lines().map(str::trim) {
            match line.strip_prefix("```") {
                Some(_) if inside => inside = false,
                Some(language) => {
                    inside = true;
                    snippets.push(Snippet {
                        page: name.clone(),
                        language: language.to_owned(),
                        lines: Vec::new(),
                    });
                }
                None if inside => snippets.last_mut().unwrap().lines.push(line.to_owned()),
                None => {}
            }
        }
        assert!(!inside, "{name} has a fence without an end");
        snippets
    });
    found.filter(|snippet| snippet.language == language).collect()
}

#[test]
fn every_piece_of_rust_stands_in_a_file_that_is_compiled() {
    let compiled: Vec<_> = [root().join("crates"), root().join("tests")]
        .iter()
        .flat_map(|folder| files(folder, ".rs"))
        .map(|file| bare(&fs::read_to_string(file).unwrap()))
        .collect();
    let snippets = snippets("rust");
    assert!(snippets.len() >= 4, "the pages have code");
    for snippet in snippets {
        let wanted = bare(&snippet.text());
        let stands_in = |file: &Vec<String>| file.windows(wanted.len()).any(|lines| lines == wanted);
        assert!(compiled.iter().any(stands_in), "{} has code of its own:\n{}", snippet.page, snippet.text());
    }
}

#[test]
fn every_configuration_shown_is_right() {
    for snippet in snippets("toml").iter().filter(|snippet| snippet.page == "configuration.md") {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("companion.toml");
        fs::write(&path, snippet.text()).unwrap();
        let layers = Layers { file: ConfigurationFile::Named(path), ..Layers::none() };
        load(&layers).unwrap_or_else(|mistakes| panic!("{}: {mistakes}", snippet.text()));
    }
}

/// Of the crates that the tests depend on, those that an example uses are in the manifest that its page shows.
#[test]
fn the_manifests_of_the_pages_have_all_that_the_examples_need() {
    let dependencies = |manifest: &str| -> BTreeSet<String> {
        let keys = manifest.lines().filter_map(|line| line.split(['.', ' ']).next());
        keys.filter(|key| !key.is_empty()).map(|key| key.replace('-', "_")).collect()
    };
    let own = dependencies(&fs::read_to_string(root().join("tests/Cargo.toml")).unwrap());
    let examples = root().join("tests/tests/end_to_end");
    for (page, number, example) in [
        ("adapters.md", 0, "third_party_roster"),
        ("adapters.md", 1, "third_party_gatekeeper/gatekeeper.rs"),
        ("adapters.md", 2, "documented/choosing_a_port/program.rs"),
        ("README.md", 0, "documented/swapping_a_part.rs"),
    ] {
        let path = examples.join(example);
        let sources = if path.is_dir() { files(&path, ".rs") } else { vec![path] };
        let source: String = sources.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
        let used: BTreeSet<_> =
            own.iter().filter(|one| source.contains(&format!("{one}::"))).cloned().collect();
        assert!(!used.is_empty(), "{example}");
        let mut shown = snippets("toml").into_iter().filter(|snippet| snippet.page == page);
        let shown = shown.nth(number).unwrap().text();
        let missing: Vec<_> = used.difference(&dependencies(&shown)).cloned().collect();
        assert_eq!(missing, Vec::<String>::new(), "{example} needs them:\n{shown}");
    }
}

#[test]
fn the_template_of_the_guide_is_shown_whole() {
    let file = root().join("tests/tests/end_to_end/third_party_gatekeeper/gatekeeper.rs");
    let template = bare(&fs::read_to_string(file).unwrap());
    let shown = snippets("rust").into_iter().any(|snippet| bare(&snippet.text()) == template);
    assert!(shown, "adapters.md does not show the template as it is");
}
