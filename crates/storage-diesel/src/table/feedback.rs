//! Feedback. Positive entries have slots, numbered from 0 without gaps, so that a random pick costs the same however
//! many there are. The slot belongs to the table and is not part of the row type.

use super::{
    column::Field as _,
    history::Write,
    row::{Columns as _, FeedbackRow, Row as _, RowKey},
    unreadable::Unreadable,
};
use crate::{
    connection::AnyConnection,
    failure::{RowError, WorkError},
    schema::feedback,
};
use companion_domain::{
    change::{Kind, Subject, Tally},
    model::{Feedback, FeedbackId, UserId},
    rules::Seed,
};
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl, QueryResult, RunQueryDsl, dsl::max};
use std::{num::NonZeroU32, sync::Arc};

/// Factor by which more entries are drawn if some of the first are unreadable.
const REDRAW_FACTOR: usize = 8;
/// Maximum number of entries read at once.
const PAGE_ENTRIES: usize = 1000;

/// Returns the number of slots: one more than the last.
pub(super) fn slots(db: &mut AnyConnection) -> QueryResult<i64> {
    let last: Option<i64> = feedback::table.select(max(feedback::slot)).get_result(db)?;
    Ok(last.map_or(0, |last| last + 1))
}

fn slot_of(db: &mut AnyConnection, id: &str) -> QueryResult<Option<i64>> {
    Ok(feedback::table.find(id).select(feedback::slot).get_result(db).optional()?.flatten())
}

/// Frees a slot by moving the entry of the last slot into it.
fn vacate(db: &mut AnyConnection, slot: i64) -> QueryResult<()> {
    let last = slots(db)?;
    if last > slot {
        diesel::update(feedback::table.filter(feedback::slot.eq(last - 1)))
            .set(feedback::slot.eq(slot))
            .execute(db)?;
    }
    Ok(())
}

pub(crate) fn put(write: &mut Write<'_>, entry: &Feedback) -> Result<Tally, WorkError> {
    let tally = FeedbackRow::of(entry).put(write.db)?;
    if tally == Tally::NOTHING {
        return Ok(tally);
    }
    let target = feedback::table.find(entry.id.as_str());
    match (entry.rating.is_positive(), slot_of(write.db, entry.id.as_str())?) {
        (true, None) => {
            let next = slots(write.db)?;
            diesel::update(target).set(feedback::slot.eq(next)).execute(write.db)?;
        }
        (false, Some(slot)) => {
            diesel::update(target).set(feedback::slot.eq(None::<i64>)).execute(write.db)?;
            vacate(write.db, slot)?;
        }
        (true, Some(_)) | (false, None) => {}
    }
    Ok(write.noted(tally, || Subject::Feedback(entry.id.clone())))
}

pub(crate) fn remove(write: &mut Write<'_>, id: &str) -> Result<Tally, WorkError> {
    let slot = slot_of(write.db, id)?;
    let key = RowKey(vec![id.to_owned().into()]);
    let tally = FeedbackRow::TABLE.delete(write.db, key.clone())?;
    if let Some(slot) = slot {
        vacate(write.db, slot)?;
    }
    Ok(write.noted(tally, || key.subject(Kind::Feedback)))
}

pub(crate) fn forget(write: &mut Write<'_>, user: UserId) -> Result<Tally, WorkError> {
    let ids: Vec<String> = feedback::table
        .filter(feedback::submitter_id.eq(user.column()))
        .select(feedback::id)
        .load(write.db)?;
    let mut tally = Tally::NOTHING;
    for id in ids {
        tally += remove(write, &id)?;
    }
    Ok(tally)
}

fn in_slot(db: &mut AnyConnection, slot: i64, unreadable: &Unreadable) -> QueryResult<Option<Arc<Feedback>>> {
    let entry = match FeedbackRow::select(db, "WHERE slot = ?", vec![slot.into()])?.pop() {
        Some(row) => unreadable.one(&row),
        None => {
            let hole = RowError { table: FeedbackRow::TABLE.name, column: "slot" };
            unreadable.accept(|| RowKey(vec![format!("slot {slot}").into()]), Err(hole))
        }
    };
    Ok(entry.map(Arc::new))
}

/// Returns a page of positive entries, ordered by id. Unreadable rows do not shorten the page.
pub(crate) fn positive_after(
    db: &mut AnyConnection,
    after: Option<&FeedbackId>,
    most: NonZeroU32,
    unreadable: &Unreadable,
) -> Result<Vec<Arc<Feedback>>, WorkError> {
    let most = usize::try_from(most.get()).unwrap_or(usize::MAX);
    // Every id is greater than the empty string.
    let mut reached = after.map_or_else(String::new, ToString::to_string);
    let mut found = Vec::new();
    while found.len() < most {
        let missing = (most - found.len()).min(PAGE_ENTRIES) as i64;
        let rest = "WHERE slot IS NOT NULL AND id > ? ORDER BY id LIMIT ?";
        let page = FeedbackRow::select(db, rest, vec![reached.clone().into(), missing.into()])?;
        let Some(last) = page.last() else { break };
        reached.clone_from(&last.id);
        found.extend(unreadable.all(&page).into_iter().map(Arc::new));
    }
    Ok(found)
}

/// Picks entries at random. Readable entries are equally likely in each step, and so overall.
pub(crate) fn pick(
    db: &mut AnyConnection,
    count: usize,
    seed: Seed,
    unreadable: &Unreadable,
) -> Result<Vec<Arc<Feedback>>, WorkError> {
    let (mut draw, slots) = (seed.draw(), usize::try_from(slots(db)?).unwrap_or_default());
    for drawn in [count, count.saturating_mul(REDRAW_FACTOR)] {
        let mut found = Vec::new();
        for slot in draw.positions(slots, drawn) {
            if found.len() < count {
                found.extend(in_slot(db, slot as i64, unreadable)?);
            }
        }
        if found.len() == count || drawn >= slots {
            return Ok(found);
        }
    }
    let readable = positive_after(db, None, NonZeroU32::MAX, unreadable)?;
    let drawn = draw.positions(readable.len(), count).into_iter();
    Ok(drawn.filter_map(|position| readable.get(position).cloned()).collect())
}
