//! Nobody sees what is not theirs, whichever node they ask.

use crate::{
    isolation::{Size, play, serve},
    postgres::{database::Database, stage::Stage},
};
use std::thread;

#[test]
fn isolation_on_three_nodes() {
    let (database, stage) = (Database::new(), Stage::new());
    let url = database.url();
    let nodes = thread::scope(|scope| {
        [0; 3].map(|_| scope.spawn(|| serve(&stage, &url))).map(|starting| starting.join().unwrap())
    });
    play(&stage, &nodes, &Size::from_environment());
}
