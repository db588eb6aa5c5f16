//! Nobody sees what is not theirs, whichever node they ask.

use crate::isolation::{Size, play, serve};
use crate::postgres::stage::Stage;
use xtask::postgres::Cluster;

#[test]
fn isolation_on_three_nodes() {
    let (cluster, stage) = (Cluster::start().unwrap(), Stage::new());
    let url = cluster.url("postgres");
    let nodes = [0; 3].map(|_| serve(&stage, &url));
    play(&stage, &nodes, &Size::from_environment());
}
