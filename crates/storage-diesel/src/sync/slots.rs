//! Keeping the slots of positive feedback without holes through a merge.

use crate::{connection::AnyConnection, error::Failure, store::feedback::slots};
use diesel::{QueryResult, QueryableByName, RunQueryDsl, sql_query, sql_types::BigInt};

#[derive(QueryableByName)]
struct Count {
    #[diesel(sql_type = BigInt)]
    count: i64,
}

fn run(db: &mut AnyConnection, sync: i64, statement: &str) -> QueryResult<usize> {
    sql_query(statement).bind::<BigInt, _>(sync).execute(db)
}

/// Takes their slots from entries that are about to go, or to be no longer positive. Returns how many slots there were.
pub(super) fn free(db: &mut AnyConnection, sync: i64, gone: Option<&str>) -> Result<i64, Failure> {
    let before = slots(db)?;
    if let Some(gone) = gone {
        let going = format!(
            "INSERT INTO staged_holes (sync, slot) SELECT $1, t.slot FROM {gone} AND t.slot IS NOT NULL"
        );
        run(db, sync, &going)?;
    }
    let soured = run(
        db,
        sync,
        "INSERT INTO staged_holes (sync, slot) SELECT $1, t.slot FROM staged_feedback AS s
         JOIN feedback AS t ON t.id = s.id WHERE s.sync = $1 AND NOT s.positive AND t.slot IS NOT NULL",
    )?;
    if soured > 0 {
        run(
            db,
            sync,
            "UPDATE feedback AS t SET slot = NULL FROM staged_feedback AS s
             WHERE s.sync = $1 AND s.id = t.id AND NOT s.positive AND t.slot IS NOT NULL",
        )?;
    }
    Ok(before)
}

/// The positive entries that have no slot yet, numbered from 1.
const NEWCOMERS: &str = "(SELECT t.id AS id, row_number() OVER (ORDER BY t.id) AS place
    FROM staged_feedback AS s JOIN feedback AS t ON t.id = s.id
    WHERE s.sync = $1 AND s.positive AND t.slot IS NULL) AS newcomer";

/// Gives newcomers the free slots, and then new ones after the last. Slots that nobody needs are filled from the end.
pub(super) fn fill(db: &mut AnyConnection, sync: i64, before: i64) -> Result<(), Failure> {
    let seated = format!(
        "UPDATE feedback AS f SET slot = hole.slot
         FROM (SELECT slot, row_number() OVER (ORDER BY slot) AS place FROM staged_holes WHERE sync = $1) AS hole
         JOIN {NEWCOMERS} ON newcomer.place = hole.place WHERE f.id = newcomer.id"
    );
    let seated = run(db, sync, &seated)?;
    let appended = format!(
        "UPDATE feedback AS f SET slot = {before} + newcomer.place - 1 FROM {NEWCOMERS} WHERE f.id = newcomer.id"
    );
    run(db, sync, &appended)?;
    if seated > 0 {
        run(
            db,
            sync,
            "DELETE FROM staged_holes AS hole WHERE hole.sync = $1
             AND EXISTS (SELECT 1 FROM feedback AS t WHERE t.slot = hole.slot)",
        )?;
    }
    let left: Count = sql_query("SELECT count(*) AS count FROM staged_holes WHERE sync = $1")
        .bind::<BigInt, _>(sync)
        .get_result(db)?;
    if left.count > 0 {
        let after = before - left.count;
        let moved = format!(
            "UPDATE feedback AS f SET slot = hole.slot
             FROM (SELECT slot, row_number() OVER (ORDER BY slot) AS place FROM staged_holes
                   WHERE sync = $1 AND slot < {after}) AS hole
             JOIN (SELECT id, row_number() OVER (ORDER BY slot) AS place FROM feedback WHERE slot >= {after}) AS last
             ON last.place = hole.place WHERE f.id = last.id"
        );
        run(db, sync, &moved)?;
    }
    Ok(())
}
