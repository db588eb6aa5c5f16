//! Throughput of several loads in alternating rounds, and of each endpoint.

use super::{Plan, Report};
use crate::{
    bare,
    load::Load,
    machine,
    page::Chart,
    peers::Peers,
    server::{Server, get},
    service::{GUILDS, Installation},
    table::{Spread, Table, thousands},
    world::World,
};

/// The measured paths.
pub(crate) const ENDPOINTS: [&str; 4] = ["/", "/team", "/feedback", GUILDS];

pub(super) fn run(plan: &Plan) -> anyhow::Result<Report> {
    let installation = Installation::new(&World::USUAL)?;
    let service = installation.serve()?;
    let peers = Peers::start(&installation)?;
    let mut head = vec!["endpoint", "bytes", "bare, requests/s", "Companion / bare"];
    let names: Vec<_> =
        peers.iter().map(|(name, _)| (format!("{name} / bare"), format!("Companion / {name}"))).collect();
    head.extend(names.iter().flat_map(|(to_bare, to_peer)| [to_bare.as_str(), to_peer.as_str()]));
    let mut table = Table::with_head(&head);
    let mut chart = Chart::new("Requests a second, as a share of a bare server with the same bytes", 1.0);
    for path in ENDPOINTS {
        installation.report()?;
        let loads = Loads::of(&installation, &service, path)?;
        let others =
            peers.iter().map(|(_, server)| Load { address: server.address, ..loads.service.clone() });
        let all: Vec<_> = [&loads.bare, &loads.service].into_iter().cloned().chain(others).collect();
        let measured = throughput(plan, &all)?;
        let [bare, service, peers_measured @ ..] = measured.as_slice() else {
            anyhow::bail!("nothing measured")
        };
        let ratio = Spread::of_ratios(service, bare);
        let mut row = vec![
            format!("`{path}`"),
            loads.bytes.to_string(),
            thousands(Spread::of(bare.clone()).median),
            ratio.to_string(),
        ];
        chart.bar(path, "Companion", ratio.median);
        for ((name, _), peer) in peers.iter().zip(peers_measured) {
            let to_bare = Spread::of_ratios(peer, bare);
            chart.bar(path, name, to_bare.median);
            row.extend([
                format!("{:.3}", to_bare.median),
                format!("{:.1}", Spread::of_ratios(service, peer).median),
            ]);
        }
        table.row(row);
    }
    let text = format!("{table}\n{}", peers.remarks());
    Ok(Report { text, chart: Some(chart) })
}

/// Loads on the service and on a bare server with the same bytes.
pub(crate) struct Loads {
    pub(crate) service: Load,
    pub(crate) bare: Load,
    bytes: usize,
    /// Kept alive with the loads.
    _bare_server: Server,
}

impl Loads {
    pub(crate) fn of(installation: &Installation, service: &Server, path: &str) -> anyhow::Result<Self> {
        let body = get(service.address, path, &installation.header(path)?)?;
        let bare_server = bare::start(machine::server_core(), &body, installation.folder())?;
        let service = installation.load(service, path);
        let bare = Load { address: bare_server.address, path: "/".to_owned(), ..service.clone() };
        Ok(Self { service, bare, bytes: body.len(), _bare_server: bare_server })
    }

    /// Returns the throughput of the service as a share of the bare server's.
    pub(super) fn share(&self, plan: &Plan) -> anyhow::Result<Spread> {
        ratio(plan, &self.service, &self.bare)
    }

    /// Uses every session once, as some time after a restart.
    pub(super) fn warm_up(&self) -> anyhow::Result<()> {
        Load { once: true, ..self.service.clone() }.measure().map(drop)
    }
}

/// Length of a turn in seconds. Other activity on the machine lasts longer, so it affects all servers.
const TURN: f64 = 0.25;

/// Returns the ratio of the throughputs of two loads.
pub(super) fn ratio(plan: &Plan, load: &Load, to: &Load) -> anyhow::Result<Spread> {
    let measured = throughput(plan, &[to.clone(), load.clone()])?;
    let [to, load] = measured.as_slice() else { anyhow::bail!("nothing measured") };
    Ok(Spread::of_ratios(load, to))
}

/// Returns the requests per second of each load, turn by turn. The first second of each is not counted, because caches
/// fill and JIT compilers warm up.
fn throughput(plan: &Plan, loads: &[Load]) -> anyhow::Result<Vec<Vec<f64>>> {
    for load in loads {
        load.measure()?;
    }
    let mut measured = vec![Vec::new(); loads.len()];
    for turn in 0..plan.turns {
        let mut order: Vec<_> = loads.iter().zip(&mut measured).collect();
        if turn % 2 == 1 {
            order.reverse();
        }
        for (load, measured) in order {
            measured.push(Load { seconds: TURN, ..load.clone() }.measure()?.per_second());
        }
    }
    Ok(measured)
}
