//! The files of `docs/deploy` are well-formed, and say what the program understands.

use super::page::{files, root, text};
use crate::program::Program;
use std::{collections::BTreeSet, fs};
use yaml_rust2::{Yaml, YamlLoader};

fn documents(path: &str) -> Vec<Yaml> {
    YamlLoader::load_from_str(&text(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Names and values of a table, as text.
fn entries(table: &Yaml) -> Vec<(String, String)> {
    let text = |value: &Yaml| value.as_str().map_or_else(|| format!("{value:?}"), str::to_owned);
    table.as_hash().unwrap().iter().map(|(name, value)| (text(name), text(value))).collect()
}

/// Has the program look at the environment that a deployment gives it, with something in each file that it names.
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
fn every_yaml_file_can_be_read() {
    let found: Vec<_> = ["yml", "yaml"]
        .iter()
        .flat_map(|ending| [root().join("docs"), root().join(".github")].map(|folder| files(&folder, ending)))
        .flatten()
        .collect();
    assert!(found.len() >= 5, "{found:?}");
    for file in found {
        let documents = YamlLoader::load_from_str(&fs::read_to_string(&file).unwrap());
        assert!(
            documents.as_ref().is_ok_and(|documents| !documents.is_empty()),
            "{}: {documents:?}",
            file.display()
        );
    }
}

#[test]
fn every_variable_of_a_deployment_is_a_key() {
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
fn the_nodes_of_the_cluster_are_configured_as_the_program_wants_it() {
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
fn the_service_of_the_compose_file_is_configured_as_the_program_wants_it() {
    let documents = documents("docs/deploy/compose.yaml");
    let service = &documents[0]["services"]["companion"];
    // As Compose fills them in.
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

/// Where the proxies look is where the program listens unless it is told otherwise, and where the sockets of systemd are.
#[test]
fn proxies_and_sockets_have_the_usual_ports() {
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
