//! Sign-ins and a whole sync, compared with loops of bare inserts that make the same rows durable.

use super::{Plan, Report};
use crate::{
    inserts::{self, Rows},
    load::Load,
    machine, platform,
    service::Installation,
    table::{Spread, Table, thousands},
    world::World,
};
use std::time::Instant;
use xtask::postgres::Cluster;

const EMPTY: World = World { guilds: 10, feedback: 0, users: 0, guilds_each: 0 };
/// Each round creates its own database. One on PostgreSQL takes a minute and a half.
const ROUNDS: usize = 3;
/// Clients that sign in at the same time.
const CLIENTS: [usize; 2] = [1, 64];

/// Measurements of one database, one per round.
#[derive(Default)]
struct Rounds {
    /// Sign-ins per second, for each number of clients.
    sign_ins: [Vec<f64>; CLIENTS.len()],
    commits: Vec<f64>,
    /// Processor time of a sign-in, in milliseconds.
    busy: Vec<f64>,
    /// Seconds of a sync and of the bare inserts.
    sync: Vec<f64>,
    inserts: Vec<f64>,
}

pub(super) fn run(plan: &Plan) -> anyhow::Result<Report> {
    let mut sign_ins = Table::new([
        "sign-ins",
        "clients",
        "sign-ins/s",
        "bare commits/s",
        "ratio",
        "processor time of the service, each",
    ]);
    let mut syncs = Table::new(["sync into", "records", "sync", "bare inserts", "times the bare inserts"]);
    let (logins, records) = if plan.quick { (1000, 100_000) } else { (4000, 1_000_000) };
    let databases = ["SQLite", "PostgreSQL"]
        .into_iter()
        .filter(|name| *name == "SQLite" || xtask::postgres::is_installed());
    for name in databases {
        let mut rounds = Rounds::default();
        for _ in 0..ROUNDS {
            let cluster = (name == "PostgreSQL").then(Cluster::durable).transpose()?;
            rounds.measure(cluster.as_ref(), logins, records)?;
        }
        let commits = Spread::of(rounds.commits.clone()).median;
        for (clients, rates) in CLIENTS.iter().zip(&rounds.sign_ins) {
            sign_ins.row([
                name.to_owned(),
                clients.to_string(),
                thousands(Spread::of(rates.clone()).median),
                thousands(commits),
                Spread::of_ratios(rates, &rounds.commits).to_string(),
                format!("{:.2} ms", Spread::of(rounds.busy.clone()).median),
            ]);
        }
        syncs.row([
            name.to_owned(),
            thousands(records as f64),
            format!("{:.1} s", Spread::of(rounds.sync.clone()).median),
            format!("{:.1} s", Spread::of(rounds.inserts.clone()).median),
            Spread::of_ratios(&rounds.sync, &rounds.inserts).to_string(),
        ]);
    }
    Ok(Report { text: format!("{sign_ins}\n{syncs}"), chart: None })
}

impl Rounds {
    #[expect(clippy::cast_precision_loss, reason = "far fewer rows than floating point holds exactly")]
    fn measure(&mut self, cluster: Option<&Cluster>, logins: u64, records: u64) -> anyhow::Result<()> {
        let url = cluster.map_or("sqlite:companion.db".to_owned(), |cluster| cluster.url("postgres"));
        let installation = Installation::within(&url, &EMPTY)?;
        let platform = platform::start(installation.folder())?;
        let installation = installation.with_platform(platform.address);
        let service = installation.serve()?;
        for (place, (clients, rates)) in CLIENTS.iter().zip(&mut self.sign_ins).enumerate() {
            let load = installation.sign_ins(&service, place as u64 * logins, logins)?;
            let load = Load { connections: *clients, ..load };
            let before = machine::ticks_at_work(service.id())?;
            rates.push(load.measure()?.per_second());
            let ticks = machine::ticks_at_work(service.id())? - before;
            if *clients > 1 {
                self.busy.push(ticks as f64 * 10.0 / logins as f64);
            }
        }
        let world = World { guilds: records / 10, ..EMPTY }.sync_lines();
        let start = Instant::now();
        installation.feed("POST", "/bot/sync", &world)?;
        self.sync.push(start.elapsed().as_secs_f64());
        drop(service);
        let url = cluster
            .map_or_else(|| format!("sqlite:{}", installation.file("bare.db").display()), |_| url.clone());
        self.commits.push(logins as f64 / inserts::measure(&url, Rows::SignIns, logins)?);
        self.inserts.push(inserts::measure(&url, Rows::World, records)?);
        Ok(())
    }
}
