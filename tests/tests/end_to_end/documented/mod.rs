//! What the documentation shows, as code that runs: a reader can paste any of it.
//!
//! Every piece of code in the documentation stands in a source file that is compiled.

mod choosing_a_port;
mod swapping_a_part;

use self::choosing_a_port::serve_the_team_from;
use crate::{served::Client, third_party_roster::write_by_hand};
use companion::configuration::{ConfigurationFile, Layers, load, load_for_serving};
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
        ("adapters.md", 2, "documented/choosing_a_port.rs"),
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

/// A section of the guide to adapters: a single port is exchanged in the program.
#[tokio::test]
async fn the_program_shows_the_team_of_the_file_and_what_becomes_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("team.json");
    let layers = Layers::none()
        .with("COMPANION_STORAGE__URL", "memory:")
        .with("COMPANION_HTTP__LISTEN", "127.0.0.1:0")
        .with("COMPANION_MANAGEMENT__LISTEN", "127.0.0.1:0");
    let configuration = load_for_serving(&layers).unwrap().configuration;
    let service = serve_the_team_from(file.clone(), &configuration).await.unwrap();
    let mut client = Client::connect(service.public_address()).await;
    for role in ["Founder", "Helper"] {
        write_by_hand(&file, role);
        assert_eq!(client.send("GET", "/team", &[]).await.data()[0]["role"], role, "at once");
    }
    drop(client);
    service.stop().await.unwrap();
}
