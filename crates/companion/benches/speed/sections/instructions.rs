//! Instructions per request, counted by valgrind: independent of the load of the machine.

use super::{Plan, Report, endpoints::ENDPOINTS};
use crate::{
    bare, callgrind,
    feed::put_guild,
    machine,
    server::{Server, get, one_after_another},
    service::Installation,
    table::{Table, thousands},
    world::World,
};
use std::{collections::BTreeMap, net::SocketAddr, path::Path, process::Command};

/// A run with the smaller number of requests is subtracted from one with the larger, so that the start does not count.
const FEWER: u32 = 1000;
const MORE: u32 = 5000;
/// The change of a busy bot.
const PUT: &str = "PUT /bot/guilds/{id}";
/// The ratio to the baseline that is a failure.
const TOLERANCE: f64 = 1.1;

pub(super) fn run(plan: &Plan) -> anyhow::Result<Report> {
    anyhow::ensure!(
        machine::has("valgrind"),
        "valgrind is missing: install it with the package manager of this system"
    );
    let mut table = Table::new(["endpoint", "bare", "Companion", "ratio"]);
    let installation = Installation::new(&World::USUAL)?;
    let mut counted = BTreeMap::new();
    let start = |watcher| {
        let server = installation.serve_under(watcher)?;
        installation.report()?;
        installation.wait_for_feedback()?;
        Ok(server)
    };
    for path in ENDPOINTS {
        let header = installation.header(path)?;
        let body = {
            let service = installation.serve()?;
            installation.report()?;
            get(service.address, path, &header)?
        };
        let result = installation.file("callgrind");
        let get = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{header}\r\n");
        let start_bare = |watcher| bare::start(watcher, &body, installation.folder());
        let bare = per_request(&result, start_bare, |server| server.address, |_| get("/"))?;
        let service = per_request(&result, start, |server| server.address, |_| get(path))?;
        table.row([
            format!("`{path}`"),
            thousands(bare),
            thousands(service),
            format!("{:.2}", service / bare),
        ]);
        counted.insert(path, service.round());
    }
    let put = |number| put_guild(number, World::USUAL.guilds);
    let change = per_request(&installation.file("callgrind"), start, |_| installation.management, put)?;
    table.row([format!("`{PUT}`"), String::new(), thousands(change), String::new()]);
    counted.insert(PUT, change.round());
    if let Some(file) = &plan.baseline {
        compare(file, &counted)?;
    }
    Ok(table.into())
}

/// Returns the instructions per request to a server.
fn per_request(
    result: &Path,
    start: impl Fn(Command) -> anyhow::Result<Server>,
    address: impl Fn(&Server) -> SocketAddr,
    request: impl Fn(u64) -> String,
) -> anyhow::Result<f64> {
    let count = |requests: u32| {
        let server = start(callgrind::watching(result, true))?;
        // Other numbers in each run, since a change that was made before changes nothing.
        let numbers = (u64::from(requests * FEWER)..).take(requests as usize);
        one_after_another(address(&server), numbers.map(&request))?;
        drop(server);
        callgrind::instructions(result)
    };
    let (fewer, more) = (count(FEWER)?, count(MORE)?);
    Ok((more - fewer) / f64::from(MORE - FEWER))
}

/// Fails if a request has become more expensive. Writes the file if it does not exist.
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
