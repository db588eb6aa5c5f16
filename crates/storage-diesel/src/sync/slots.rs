//! Keeping the slots of positive feedback without holes through a merge.

use super::{merge::Fate, staging::FEEDBACK};
use crate::{connection::AnyConnection, failure::Failure, store::feedback::slots};
use diesel::{QueryResult, QueryableByName, RunQueryDsl, sql_query, sql_types::BigInt};

#[derive(QueryableByName)]
struct Count {
    #[diesel(sql_type = BigInt)]
    count: i64,
}

fn run(db: &mut AnyConnection, statement: &str) -> QueryResult<usize> {
    sql_query(statement).execute(db)
}

/// Takes their slots from entries that are about to go, or to be no longer positive. Returns how many slots there were.
pub(super) fn free(db: &mut AnyConnection) -> Result<i64, Failure> {
    let before = slots(db)?;
    let (differing, gone, changed) = (FEEDBACK.differing(), Fate::Gone.number(), Fate::Changed.number());
    run(
        db,
        &format!(
            "INSERT INTO staged_holes (slot) SELECT t.slot FROM {differing} AS d JOIN feedback AS t ON t.id = d.id
             WHERE t.slot IS NOT NULL AND (d.fate = {gone} OR (d.fate = {changed} AND NOT d.positive))"
        ),
    )?;
    run(
        db,
        &format!(
            "UPDATE feedback SET slot = NULL WHERE slot IS NOT NULL
             AND id IN (SELECT id FROM {differing} WHERE fate = {changed} AND NOT positive)"
        ),
    )?;
    Ok(before)
}

/// Gives newcomers the free slots, and then new ones after the last. Slots that nobody needs are filled from the end.
pub(super) fn fill(db: &mut AnyConnection, before: i64) -> Result<(), Failure> {
    let (differing, gone) = (FEEDBACK.differing(), Fate::Gone.number());
    // The positive entries that have no slot yet, numbered from 1.
    let newcomers = format!(
        "(SELECT t.id AS id, row_number() OVER (ORDER BY t.id) AS place
         FROM {differing} AS d JOIN feedback AS t ON t.id = d.id
         WHERE d.fate <> {gone} AND d.positive AND t.slot IS NULL) AS newcomer"
    );
    let seated = run(
        db,
        &format!(
            "UPDATE feedback AS f SET slot = hole.slot
             FROM (SELECT slot, row_number() OVER (ORDER BY slot) AS place FROM staged_holes) AS hole
             JOIN {newcomers} ON newcomer.place = hole.place WHERE f.id = newcomer.id"
        ),
    )?;
    run(
        db,
        &format!(
            "UPDATE feedback AS f SET slot = {before} + newcomer.place - 1 FROM {newcomers} WHERE f.id = newcomer.id"
        ),
    )?;
    if seated > 0 {
        run(
            db,
            "DELETE FROM staged_holes AS hole WHERE EXISTS (SELECT 1 FROM feedback AS t WHERE t.slot = hole.slot)",
        )?;
    }
    let left: Count = sql_query("SELECT count(*) AS count FROM staged_holes").get_result(db)?;
    if left.count > 0 {
        let after = before - left.count;
        let moved = format!(
            "UPDATE feedback AS f SET slot = hole.slot
             FROM (SELECT slot, row_number() OVER (ORDER BY slot) AS place FROM staged_holes
                   WHERE slot < {after}) AS hole
             JOIN (SELECT id, row_number() OVER (ORDER BY slot) AS place FROM feedback WHERE slot >= {after}) AS last
             ON last.place = hole.place WHERE f.id = last.id"
        );
        run(db, &moved)?;
    }
    Ok(())
}
