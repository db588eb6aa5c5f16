//! Conformance of every storage port, over two independent handles to the same file.

use crate::{
    shared::{Place, damage},
    sqlite::folder::Folder,
};
use companion_domain::port::PlatformPauses;
use companion_testkit::conformance::{Fresh, Gate, Stores};
use diesel::connection::SimpleConnection;
use std::sync::Arc;

companion_testkit::storage_conformance! {{
    let folder = Arc::new(Folder::new());
    let (one, other) = (Arc::new(folder.open_patiently().await), Arc::new(folder.open_patiently().await));
    let (gated, damaged) = (Arc::clone(&folder), Arc::clone(&folder));
    Fresh::new(Arc::new(Stores::of(&one)))
        .with_other(Arc::new(Stores::of(&other)))
        .gating(move || std::future::ready(write_lock(&gated)))
        .damaging(move |what| {
            damaged.run(&damage::statement::<Folder>(&what));
            std::future::ready(true)
        })
        .keeping(folder)
}}

companion_testkit::platform_pauses_conformance! {{
    let folder = Folder::new();
    let (one, other) = (Arc::new(folder.open_patiently().await), Arc::new(folder.open_patiently().await));
    Fresh::new(one as Arc<dyn PlatformPauses>).with_other(other).keeping(folder)
}}

/// Holds the single write lock of the file. It is released when the connection closes.
fn write_lock(folder: &Folder) -> Gate {
    let mut connection = folder.connection();
    connection.batch_execute("PRAGMA busy_timeout = 10000; BEGIN IMMEDIATE").unwrap();
    Box::new(connection)
}
