//! Keeping the slots of positive feedback without holes through a merge.

use super::merge::Op;
use crate::{
    connection::AnyConnection,
    table::{
        feedback::slots,
        row::{FeedbackRow, Row},
    },
};
use companion_domain::model::Rating;
use diesel::{
    QueryResult, RunQueryDsl, connection::SimpleConnection, dsl::sql, sql_query, sql_types::BigInt,
};

/// Makes the table of slots that the merge sets free.
pub(super) fn create_holes(db: &mut AnyConnection) -> QueryResult<()> {
    db.batch_execute("CREATE TEMPORARY TABLE staged_holes (slot BIGINT PRIMARY KEY)")
}

/// The ratings that have a slot, as they are listed in a statement.
fn positive_ratings() -> String {
    let positive = (1..=5).filter_map(|stars| Rating::new(stars).ok()).filter(|rating| rating.is_positive());
    positive.map(|rating| rating.stars().to_string()).collect::<Vec<_>>().join(", ")
}

fn run(db: &mut AnyConnection, statement: &str) -> QueryResult<usize> {
    sql_query(statement).execute(db)
}

/// Takes their slots from entries that are about to go, or to be no longer positive. Returns how many slots there were.
pub(super) fn free(db: &mut AnyConnection) -> QueryResult<i64> {
    let (before, positive) = (slots(db)?, positive_ratings());
    let (differing, delete, update) =
        (FeedbackRow::TABLE.differing(), Op::Delete.number(), Op::Update.number());
    run(
        db,
        &format!(
            "INSERT INTO staged_holes (slot) SELECT t.slot FROM {differing} AS d JOIN feedback AS t ON t.id = d.id
             WHERE t.slot IS NOT NULL AND (d.op = {delete} OR (d.op = {update} AND d.rating NOT IN ({positive})))"
        ),
    )?;
    run(
        db,
        &format!(
            "UPDATE feedback SET slot = NULL WHERE slot IS NOT NULL
             AND id IN (SELECT id FROM {differing} WHERE op = {update} AND rating NOT IN ({positive}))"
        ),
    )?;
    Ok(before)
}

/// Gives newcomers the free slots, and then new ones after the last. Slots that nobody needs are filled from the end.
pub(super) fn fill(db: &mut AnyConnection, before: i64) -> QueryResult<()> {
    let (differing, delete) = (FeedbackRow::TABLE.differing(), Op::Delete.number());
    let positive = positive_ratings();
    // The positive entries that have no slot yet, numbered from 1.
    let newcomers = format!(
        "(SELECT t.id AS id, row_number() OVER (ORDER BY t.id) AS place
         FROM {differing} AS d JOIN feedback AS t ON t.id = d.id
         WHERE d.op <> {delete} AND d.rating IN ({positive}) AND t.slot IS NULL) AS newcomer"
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
    let left: i64 = sql::<BigInt>("SELECT count(*) FROM staged_holes").get_result(db)?;
    if left > 0 {
        let after = before - left;
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
