//! Whether the storage is fit to serve.

use crate::{failure::Failure, schema::changes, storage::DieselStorage, writer::Write};
use async_trait::async_trait;
use companion_domain::port::{Health, StoreError};
use diesel::{ExpressionMethods, QueryDsl, RunQueryDsl};
use std::sync::Arc;

/// How much room there must be for a write to count as one that works, in bytes.
const ROOM: usize = 64 * 1024;
/// No change has this revision, and nobody asks for it.
const NO_REVISION: i64 = -1;

/// Writes something as large as that, and takes it away again. Nobody ever sees it, but it goes to the disk.
fn write_something(write: &mut Write<'_>) -> Result<(), Failure> {
    diesel::insert_into(changes::table)
        .values((
            changes::revision.eq(NO_REVISION),
            changes::kind.eq("none"),
            changes::subject.eq(incompressible()),
        ))
        .execute(write.db)?;
    diesel::delete(changes::table.find(NO_REVISION)).execute(write.db)?;
    Ok(())
}

/// Letters in no order, so that no database stores fewer.
fn incompressible() -> String {
    let mut state = 1_u64;
    let letters = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'A' + u8::try_from(state >> 60).unwrap_or_default())
    });
    letters.take(ROOM).collect()
}

#[async_trait]
impl Health for DieselStorage {
    async fn check(&self) -> Result<(), StoreError> {
        let database = Arc::clone(self.database());
        let (file, complete) =
            self.read(move |db| Ok((database.check_file(), db.has_complete_schema()?))).await?;
        file.map_err(StoreError::unavailable)?;
        if !complete {
            return Err(StoreError::unavailable("the schema is not the one that this version works with"));
        }
        match self.writer().status().last_failure() {
            None => Ok(()),
            // Whatever it was may be over.
            Some(reason) => self
                .write_urgently(write_something)
                .await
                .map_err(|_| StoreError::unavailable(format!("the last write failed: {reason}"))),
        }
    }
}
