//! Instructions and allocations per request, counted by valgrind: the same on a busy machine as on a quiet one.

use super::{Plan, Report, endpoints::ENDPOINTS};
use crate::{
    bare, machine,
    server::{Server, get, one_after_another},
    service::Installation,
    table::{Table, thousands},
    world::World,
};
use anyhow::Context as _;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Command,
};

/// A run of so many requests is taken from one of so many more, so that the start does not count.
const FEWER: u64 = 1000;
const MORE: u64 = 5000;
/// How much more than the baseline is a failure.
const TOLERANCE: f64 = 1.1;

pub(super) fn run(plan: &Plan, baseline: Option<&Path>) -> anyhow::Result<Report> {
    anyhow::ensure!(machine::has("valgrind"), "valgrind is missing: install it in the way of this system");
    let mut table =
        Table::new(["endpoint", "bare", "Companion", "ratio", "allocations, bare", "allocations, Companion"]);
    let installation = Installation::new(&World::USUAL)?;
    let mut counted = BTreeMap::new();
    for (path, signed_in) in ENDPOINTS {
        let header =
            if signed_in { format!("Token: {}\r\n", installation.first_token()?) } else { String::new() };
        let body = {
            let (service, _) = installation.serve()?;
            installation.report()?;
            get(service.address, path, &header)?
        };
        let bare = |tool: &Tool| {
            per_request(tool, "/", &header, |watcher| {
                bare::start_under(watcher, &body, installation.folder())
            })
        };
        let service = |tool: &Tool| {
            per_request(tool, path, &header, |watcher| {
                let server = installation.serve_under(watcher)?;
                installation.report()?;
                Ok(server)
            })
        };
        let instructions = Tool::instructions(&installation);
        let (of_bare, of_service) = (bare(&instructions)?, service(&instructions)?);
        counted.insert(path, of_service);
        let mut row = vec![
            format!("`{path}`"),
            thousands(of_bare),
            thousands(of_service),
            format!("{:.2}", of_service / of_bare),
        ];
        if !plan.quick {
            let allocations = Tool::allocations(&installation);
            row.extend([bare(&allocations)?, service(&allocations)?].map(|count| format!("{count:.1}")));
        }
        table.row(row);
    }
    if let Some(file) = baseline {
        compare(file, &counted)?;
    }
    Ok(Report { title: "Instructions per request", text: table.to_string(), chart: None })
}

/// A tool of valgrind, and where it says what it counted.
struct Tool {
    arguments: Vec<String>,
    result: PathBuf,
    read: fn(&str) -> Option<u64>,
}

impl Tool {
    fn instructions(installation: &Installation) -> Self {
        let result = installation.file("callgrind");
        let arguments =
            vec!["--tool=callgrind".to_owned(), format!("--callgrind-out-file={}", result.display())];
        Self { arguments, result, read: |text| number_after(text, "totals: ") }
    }

    fn allocations(installation: &Installation) -> Self {
        let result = installation.file("memcheck");
        let arguments = vec!["--leak-check=no".to_owned(), format!("--log-file={}", result.display())];
        Self { arguments, result, read: |text| number_after(text, "total heap usage: ") }
    }

    fn watcher(&self) -> Command {
        let mut command = Command::new("valgrind");
        command.args(&self.arguments);
        command
    }
}

fn number_after(text: &str, words: &str) -> Option<u64> {
    let (_, rest) = text.split_once(words)?;
    rest.split_whitespace().next()?.replace(',', "").parse().ok()
}

/// What a tool counts for each request to a server.
#[expect(clippy::cast_precision_loss, reason = "far fewer instructions than floating point holds exactly")]
fn per_request(
    tool: &Tool,
    path: &str,
    header: &str,
    start: impl Fn(Command) -> anyhow::Result<Server>,
) -> anyhow::Result<f64> {
    let count = |requests: u64| {
        let server = start(tool.watcher())?;
        one_after_another(server.address, path, header, requests)?;
        server.stop()?;
        let text = std::fs::read_to_string(&tool.result)?;
        (tool.read)(&text).with_context(|| format!("valgrind said nothing: {text}"))
    };
    let (fewer, more) = (count(FEWER)?, count(MORE)?);
    Ok(more.saturating_sub(fewer) as f64 / (MORE - FEWER) as f64)
}

/// Fails where something has become more expensive than it was. The first time it writes down what is.
fn compare(file: &Path, counted: &BTreeMap<&str, f64>) -> anyhow::Result<()> {
    if !file.exists() {
        std::fs::write(file, serde_json::to_string_pretty(counted)? + "\n")?;
        return Ok(());
    }
    let baseline: BTreeMap<String, f64> = serde_json::from_str(&std::fs::read_to_string(file)?)?;
    let grown: Vec<_> = counted
        .iter()
        .filter_map(|(path, count)| {
            let earlier = baseline.get(*path).copied().unwrap_or_default();
            let more = *count > earlier * TOLERANCE;
            more.then(|| format!("{path} takes {} instead of {}", thousands(*count), thousands(earlier)))
        })
        .collect();
    anyhow::ensure!(
        grown.is_empty(),
        "instructions per request have grown by more than a tenth: {}; if that is worth it, delete {} and run this again",
        grown.join(", "),
        file.display(),
    );
    Ok(())
}
