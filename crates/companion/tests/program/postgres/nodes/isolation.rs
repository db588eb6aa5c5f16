//! Nobody sees what is not theirs, whichever node they ask.

use crate::{
    isolation::{Size, play, serve},
    postgres::stage::Stage,
};
use std::thread;
use xtask::postgres::Cluster;

#[test]
fn isolation_on_three_nodes() {
    let (cluster, stage) = (Cluster::start().unwrap(), Stage::new());
    let url = cluster.url("postgres");
    let nodes = thread::scope(|scope| {
        [0; 3].map(|_| scope.spawn(|| serve(&stage, &url))).map(|starting| starting.join().unwrap())
    });
    play(&stage, &nodes, &Size::from_environment());
}
