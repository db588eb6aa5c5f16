//! Checks the documentation: its commands work, its links resolve, the tests it names exist, and the deployment files are
//! valid.

mod backup_unit;
mod commands;
mod install;
pub(crate) mod proxy;

use crate::program::Program;
use companion::configuration::{ConfigurationFile, Layers, load};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};
use yaml_rust2::{Yaml, YamlLoader};

/// Returns the root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Returns the text of a file of the repository.
fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns all files below a folder with this ending, without build output and installed packages.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
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

/// A fenced block: the words after the opening fence, and the lines inside.
struct Block {
    words: Vec<String>,
    lines: Vec<String>,
}

/// Splits a page into its prose lines and its blocks.
fn split(page: &str) -> (Vec<&str>, Vec<Block>) {
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
    assert!(!inside, "a fence has no end: {prose:?}");
    (prose, blocks)
}

/// Returns the pages of the documentation.
fn pages() -> Vec<PathBuf> {
    let mut pages = files(&root().join("docs"), ".md");
    pages.push(root().join("README.md"));
    pages
}

/// Returns all blocks of a language, each with the name of its page.
fn blocks(language: &str) -> Vec<(String, String)> {
    let of_page = |page: PathBuf| {
        let name = page.file_name().unwrap().to_str().unwrap().to_owned();
        let (_, blocks) = split(&fs::read_to_string(&page).unwrap());
        let blocks = blocks.into_iter().filter(|block| block.words == [language]);
        blocks.map(|block| (name.clone(), block.lines.join("\n"))).collect::<Vec<_>>()
    };
    pages().into_iter().flat_map(of_page).collect()
}

/// Normalizes text for comparison: without indentation and blank lines.
fn bare(text: &str) -> Vec<String> {
    text.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
}

/// Returns the sources of all crates, examples included.
fn sources() -> impl Iterator<Item = String> {
    let folders = ["crates", "tests"].map(|folder| files(&root().join(folder), ".rs"));
    folders.into_iter().flatten().map(|file| fs::read_to_string(file).unwrap())
}

#[test]
fn every_rust_block_is_part_of_a_compiled_file() {
    let compiled: Vec<_> = sources().map(|source| bare(&source)).collect();
    let shown = blocks("rust");
    assert!(shown.len() >= 4, "the pages have code");
    for (page, text) in shown {
        let wanted = bare(&text);
        let stands_in = |file: &Vec<String>| file.windows(wanted.len()).any(|lines| lines == wanted);
        assert!(compiled.iter().any(stands_in), "{page} has code of its own:\n{text}");
    }
}

#[test]
fn every_configuration_block_is_valid() {
    for (_, text) in blocks("toml").iter().filter(|(page, _)| page == "configuration.md") {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("companion.toml");
        fs::write(&path, text).unwrap();
        let layers = Layers { file: ConfigurationFile::Named(path), ..Layers::none() };
        load(&layers).unwrap_or_else(|mistakes| panic!("{text}: {mistakes}"));
    }
}

/// What stands in round brackets behind square ones; code is no link.
fn targets(page: &str) -> Vec<String> {
    let (prose, _) = split(page);
    let text = prose.join("\n");
    let outside_code = text.split('`').step_by(2);
    outside_code
        .flat_map(|text| text.split("](").skip(1))
        .filter_map(|rest| rest.split(')').next())
        .map(str::to_owned)
        .collect()
}

/// Returns the anchors of a page's headings, as common hosts generate them.
fn anchors(page: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for line in split(page).0 {
        let heading = line.trim_start_matches('#');
        if heading.len() == line.len() || !heading.starts_with(' ') {
            continue;
        }
        let letters =
            heading.trim().chars().filter(|letter| letter.is_alphanumeric() || "-_ ".contains(*letter));
        let name: String = letters
            .flat_map(char::to_lowercase)
            .map(|letter| if letter == ' ' { '-' } else { letter })
            .collect();
        let repeated =
            (1..).map(|number| format!("{name}-{number}")).find(|next| !names.contains(next)).unwrap();
        if !names.insert(name) {
            names.insert(repeated);
        }
    }
    names
}

/// Returns what is wrong with a link of a page, if anything.
fn wrong(page: &Path, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor)));
    let file = if path.is_empty() { page.to_owned() } else { page.parent().unwrap().join(path) };
    if !file.exists() {
        return Some(format!("{}: there is no {target}", page.display()));
    }
    let known = |anchor: &str| anchors(&fs::read_to_string(&file).unwrap()).contains(anchor);
    anchor
        .filter(|anchor| !known(anchor))
        .map(|_| format!("{}: there is no heading {target}", page.display()))
}

#[test]
fn every_link_and_anchor_resolves() {
    let pages = files(&root(), ".md");
    let mut looked_at = 0;
    let mut mistakes = Vec::new();
    for page in &pages {
        for target in targets(&fs::read_to_string(page).unwrap()) {
            looked_at += 1;
            mistakes.extend(wrong(page, &target));
        }
    }
    assert!(pages.len() > 50 && looked_at > 150, "{} pages, {looked_at} links", pages.len());
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
}

#[test]
fn every_test_named_in_the_security_page_exists() {
    let sources: String = sources().collect();
    let functions: BTreeSet<_> =
        sources.split("fn ").skip(1).filter_map(|rest| rest.split(['(', '<']).next()).collect();
    let page = text("docs/security.md");
    let is_name = |word: &&str| {
        word.matches('_').count() >= 3
            && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
    };
    let named: Vec<_> = page.split('`').skip(1).step_by(2).filter(is_name).collect();
    assert!(named.len() > 60, "{named:?}");
    let missing: Vec<_> = named.iter().filter(|name| !functions.contains(**name)).collect();
    assert!(missing.is_empty(), "docs/security.md names tests that do not exist: {missing:?}");
}

fn documents(path: &str) -> Vec<Yaml> {
    YamlLoader::load_from_str(&text(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns the names and values of a table, as text.
fn entries(table: &Yaml) -> Vec<(String, String)> {
    let text = |value: &Yaml| value.as_str().map_or_else(|| format!("{value:?}"), str::to_owned);
    table.as_hash().unwrap().iter().map(|(name, value)| (text(name), text(value))).collect()
}

/// Runs `config check` with the environment of a deployment, with content in each file that it names.
fn checked(environment: &[(String, String)]) {
    let mut program = Program::new(&["config", "check"]);
    for (name, value) in environment {
        let contents = match name.as_str() {
            "COMPANION_STORAGE__URL_FILE" => "postgres://companion:secret@database/companion",
            "COMPANION_SECRETS__KEY_FILE" => "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
            name if name.ends_with("_FILE") => "something-that-is-long-enough",
            _ => {
                program = program.env(name, value);
                continue;
            }
        };
        let file = value.rsplit('/').next().unwrap();
        program = program.file(file, contents).env(name, file);
    }
    let finished = program.finish();
    assert_eq!((finished.code, finished.err.as_str()), (Some(0), ""), "{environment:?}");
}

#[test]
fn deployments_set_only_known_variables() {
    let page = text("docs/configuration.md");
    let mut variables = BTreeSet::new();
    for file in files(&root().join("docs/deploy"), "") {
        let text = fs::read_to_string(&file).unwrap();
        let words =
            text.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_')).map(str::to_owned);
        variables.extend(words.filter(|word| word.starts_with("COMPANION_") && word.contains("__")));
    }
    assert!(variables.len() >= 10, "{variables:?}");
    for variable in variables {
        let name = variable.strip_suffix("_FILE").unwrap_or(&variable).trim_start_matches("COMPANION_");
        let key = name.replace("__", ".").to_lowercase();
        assert!(page.contains(&format!("| `{key}` |")), "{variable} is no key of the configuration");
    }
}

#[test]
fn the_cluster_deployment_passes_config_check() {
    let documents = documents("docs/deploy/kubernetes.yaml");
    let kind =
        |kind: &str| documents.iter().find(|document| document["kind"].as_str() == Some(kind)).unwrap();
    let environment = entries(&kind("ConfigMap")["data"]);
    checked(&environment);
    let container = &kind("Deployment")["spec"]["template"]["spec"]["containers"][0];
    let listens: BTreeSet<_> = environment
        .iter()
        .filter(|(name, _)| name.ends_with("__LISTEN"))
        .map(|(_, address)| address.rsplit(':').next().unwrap().parse().unwrap())
        .collect();
    let ports: BTreeSet<_> = container["ports"]
        .as_vec()
        .unwrap()
        .iter()
        .map(|port| port["containerPort"].as_i64().unwrap())
        .collect();
    assert_eq!(listens, ports);
    let description = text("docs/openapi.json");
    for probe in ["startupProbe", "livenessProbe", "readinessProbe"] {
        let asked = &container[probe]["httpGet"];
        assert_eq!(asked["port"].as_str(), Some("management"), "{probe}");
        assert!(description.contains(&format!("\"{}\"", asked["path"].as_str().unwrap())), "{probe}");
    }
    assert_eq!(container["args"][0].as_str(), Some("serve"));
}

#[test]
fn the_compose_deployment_passes_config_check() {
    let documents = documents("docs/deploy/compose.yaml");
    let service = &documents[0]["services"]["companion"];
    // Substitutes variables as Compose does.
    let filled = |value: String| match value.strip_prefix("${") {
        Some(rest) if rest.starts_with("CLIENT_ID") => "123456789012345678".to_owned(),
        Some(rest) => format!("https://dashboard.example{}", rest.split_once('}').unwrap().1),
        None => value,
    };
    checked(
        &entries(&service["environment"])
            .into_iter()
            .map(|(name, value)| (name, filled(value)))
            .collect::<Vec<_>>(),
    );
    let given: BTreeSet<_> = entries(&documents[0]["secrets"]).into_iter().map(|(name, _)| name).collect();
    for (name, service) in documents[0]["services"].as_hash().unwrap() {
        for secret in service["secrets"].as_vec().unwrap() {
            assert!(given.contains(secret.as_str().unwrap()), "{name:?}: {secret:?}");
        }
    }
}

/// The upstream ports of the proxies are the default ports of the program and those of the systemd sockets.
#[test]
fn proxies_and_sockets_use_the_default_ports() {
    let nginx = text("docs/deploy/nginx.conf");
    let caddy = text("docs/deploy/Caddyfile");
    for (port, name, socket) in [(8080, "public", "companion"), (8082, "dashboard", "companion-dashboard")] {
        assert!(nginx.contains(&format!("server 127.0.0.1:{port} ")), "{name}");
        assert!(caddy.contains(&format!("reverse_proxy 127.0.0.1:{port} ")), "{name}");
        let socket = text(&format!("docs/deploy/systemd/{socket}.socket"));
        assert!(
            socket.contains(&format!("ListenStream=127.0.0.1:{port}\nFileDescriptorName={name}\n")),
            "{socket}"
        );
    }
    for file in [&nginx, &caddy] {
        assert!(!file.contains("8081"), "the management API is not for proxies");
    }
    let management = text("docs/deploy/systemd/companion-management.socket");
    assert!(
        management.contains("ListenStream=127.0.0.1:8081\nFileDescriptorName=management\n"),
        "{management}"
    );
}
