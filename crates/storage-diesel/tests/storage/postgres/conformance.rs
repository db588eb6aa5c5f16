//! Conformance of every storage port, over two independent handles to the same database, like two nodes.

use crate::{
    postgres::schema::{Schema, statements_for_tables},
    shared::{Place, damage},
};
use companion_domain::port::PlatformPauses;
use companion_testkit::conformance::{Fresh, Gate, Stores};
use diesel::connection::SimpleConnection;
use std::sync::Arc;

companion_testkit::storage_conformance! {{
    let schema = Arc::new(Schema::pooled());
    let (one, other) = (Arc::new(schema.open_patiently().await), Arc::new(schema.open_patiently().await));
    let (gated, damaged) = (Arc::clone(&schema), Arc::clone(&schema));
    Fresh::new(Arc::new(Stores::of(&one)))
        .with_other(Arc::new(Stores::of(&other)))
        .gating(move || std::future::ready(write_locks(&gated)))
        .damaging(move |what| {
            damaged.run(&damage::statement::<Schema>(&what));
            std::future::ready(true)
        })
        .keeping(schema)
}}

companion_testkit::platform_pauses_conformance! {{
    let schema = Schema::pooled();
    let (one, other) = (Arc::new(schema.open_patiently().await), Arc::new(schema.open_patiently().await));
    Fresh::new(one as Arc<dyn PlatformPauses>).with_other(other).keeping(schema)
}}

/// Takes locks that block all writers and no reader. They are released when the connection closes.
fn write_locks(schema: &Schema) -> Gate {
    let mut connection = schema.connection();
    let locks = statements_for_tables(&mut connection, schema.name(), "LOCK TABLE %s IN EXCLUSIVE MODE");
    connection.batch_execute(&format!("BEGIN; {locks}")).unwrap();
    Box::new(connection)
}
