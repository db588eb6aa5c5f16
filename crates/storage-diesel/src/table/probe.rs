//! A write that only finds out whether writes work.

use crate::{connection::AnyConnection, schema::changes};
use diesel::{ExpressionMethods, QueryDsl, QueryResult, RunQueryDsl};

/// How much room there must be for a write to count as one that works, in bytes.
const ROOM: usize = 64 * 1024;
/// No change has this revision, and nobody asks for it.
const NO_REVISION: i64 = -1;

/// Writes something as large as that, and takes it away again. Nobody ever sees it, but it goes to the disk.
pub(crate) fn write_probe(db: &mut AnyConnection) -> QueryResult<()> {
    diesel::insert_into(changes::table)
        .values((
            changes::revision.eq(NO_REVISION),
            changes::kind.eq("none"),
            changes::subject.eq(incompressible()),
        ))
        .execute(db)?;
    diesel::delete(changes::table.find(NO_REVISION)).execute(db)?;
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
