//! Feedback. The positive entries have slots, numbered from 0 without holes.

use crate::{
    connection::AnyConnection,
    failure::{Failure, RowError},
    row::{
        feedback::FeedbackRow,
        snowflake::to_column,
        unreadable::{Key, Unreadable},
    },
    schema::feedback,
    storage::DieselStorage,
    writer::Write,
};
use async_trait::async_trait;
use companion_domain::{
    change::{Kind, Subject, Tally},
    model::{Feedback, FeedbackId, UserId},
    port::{Entropy, FeedbackStore, StoreError},
    rules::distinct_positions,
};
use diesel::{
    ExpressionMethods, OptionalExtension, QueryDsl, QueryResult, RunQueryDsl, SelectableHelper, dsl::max,
};
use std::{pin::pin, sync::Arc};
use tokio::sync::mpsc;

/// How many times as many entries are drawn where some of the first cannot be read.
const MORE: u64 = 8;
/// How many entries are looked at in one go where hardly any can be read.
const PAGE: i64 = 500;

/// How many slots there are: one more than the last.
pub(crate) fn slots(db: &mut AnyConnection) -> QueryResult<i64> {
    let last: Option<i64> = feedback::table.select(max(feedback::slot)).first(db)?;
    Ok(last.map_or(0, |last| last + 1))
}

fn in_slot(db: &mut AnyConnection, slot: i64, unreadable: &Unreadable) -> QueryResult<Option<Arc<Feedback>>> {
    let row: QueryResult<FeedbackRow> =
        feedback::table.filter(feedback::slot.eq(slot)).select(FeedbackRow::as_select()).first(db);
    let entry = match row.optional()? {
        Some(row) => unreadable.one(row),
        None => {
            let hole = RowError { table: "feedback", column: "slot" };
            unreadable.accept(&Key::Text(None, format!("slot {slot}")), Err(hole))
        }
    };
    Ok(entry.map(Arc::new))
}

/// Gives a slot up. The entry in the last one moves into it.
fn vacate(write: &mut Write<'_>, slot: i64) -> QueryResult<()> {
    let last = slots(write.db)?;
    if last > slot {
        diesel::update(feedback::table.filter(feedback::slot.eq(last - 1)))
            .set(feedback::slot.eq(slot))
            .execute(write.db)?;
    }
    Ok(())
}

fn put(write: &mut Write<'_>, entry: &Feedback) -> Result<Tally, Failure> {
    let row = FeedbackRow::from(entry);
    let place = feedback::table.find(&row.id);
    let kept: Option<(FeedbackRow, Option<i64>)> =
        place.select((FeedbackRow::as_select(), feedback::slot)).first(write.db).optional()?;
    let (tally, slot) = match kept {
        Some((kept, _)) if kept == row => return Ok(Tally::NOTHING),
        Some((_, slot)) => {
            diesel::update(place).set(&row).execute(write.db)?;
            (Tally::CHANGED, slot)
        }
        None => {
            diesel::insert_into(feedback::table).values(&row).execute(write.db)?;
            (Tally::ADDED, None)
        }
    };
    match (entry.rating.is_positive(), slot) {
        (true, None) => {
            let next = slots(write.db)?;
            diesel::update(place).set(feedback::slot.eq(next)).execute(write.db)?;
        }
        (false, Some(slot)) => {
            diesel::update(place).set(feedback::slot.eq(None::<i64>)).execute(write.db)?;
            vacate(write, slot)?;
        }
        (true, Some(_)) | (false, None) => {}
    }
    Ok(write.noted(tally, || Subject::Feedback(entry.id.clone())))
}

fn remove(write: &mut Write<'_>, id: &str) -> Result<Tally, Failure> {
    let place = feedback::table.find(id);
    let kept: Option<Option<i64>> = place.select(feedback::slot).first(write.db).optional()?;
    let Some(slot) = kept else {
        return Ok(Tally::NOTHING);
    };
    diesel::delete(place).execute(write.db)?;
    if let Some(slot) = slot {
        vacate(write, slot)?;
    }
    Ok(write.noted(Tally::REMOVED, || id.parse().map_or(Subject::Many(Kind::Feedback), Subject::Feedback)))
}

/// Removes all entries of a user.
pub(super) fn forget(write: &mut Write<'_>, user: UserId) -> Result<Tally, Failure> {
    let ids: Vec<String> = feedback::table
        .filter(feedback::submitter_id.eq(to_column(user)))
        .select(feedback::id)
        .load(write.db)?;
    let mut tally = Tally::NOTHING;
    for id in ids {
        tally += remove(write, &id)?;
    }
    Ok(tally)
}

/// The first so many entries in these slots that can be read.
fn in_slots(
    db: &mut AnyConnection,
    chosen: &[u64],
    count: u64,
    unreadable: &Unreadable,
) -> QueryResult<Vec<Arc<Feedback>>> {
    let mut found = Vec::new();
    for slot in chosen {
        if found.len() as u64 == count {
            break;
        }
        found.extend(in_slot(db, slot.cast_signed(), unreadable)?);
    }
    Ok(found)
}

/// All slots whose entries can be read.
fn readable_slots(db: &mut AnyConnection) -> QueryResult<Vec<u64>> {
    let mut readable = Vec::new();
    let mut after = -1;
    loop {
        let page: Vec<(FeedbackRow, Option<i64>)> = feedback::table
            .filter(feedback::slot.gt(after))
            .order(feedback::slot)
            .limit(PAGE)
            .select((FeedbackRow::as_select(), feedback::slot))
            .load(db)?;
        let Some((_, Some(last))) = page.last() else { return Ok(readable) };
        after = *last;
        let slots = page.into_iter().filter_map(|(row, slot)| Feedback::try_from(row).ok().and(slot));
        readable.extend(slots.map(i64::cast_unsigned));
    }
}

/// Picks entries at random. Entries that can be read have the same chance in each step, so they have it in all.
fn pick(
    db: &mut AnyConnection,
    count: u64,
    draw: &mut Draw,
    unreadable: &Unreadable,
) -> QueryResult<Vec<Arc<Feedback>>> {
    let slots = slots(db)?.cast_unsigned();
    for drawn in [count, count.saturating_mul(MORE)] {
        let found = in_slots(db, &draw.positions(slots, drawn), count, unreadable)?;
        if found.len() as u64 == count || drawn >= slots {
            return Ok(found);
        }
    }
    let readable = readable_slots(db)?;
    let drawn = draw.positions(readable.len() as u64, count).into_iter();
    let chosen: Vec<_> =
        drawn.filter_map(|position| readable.get(usize::try_from(position).ok()?).copied()).collect();
    in_slots(db, &chosen, count, unreadable)
}

/// The way from a snapshot to chance, which stays with the caller.
struct Draw {
    asking: mpsc::Sender<(u64, u64)>,
    told: mpsc::Receiver<Vec<u64>>,
}

impl Draw {
    /// So many distinct positions out of a population; none when nobody waits for the answer any more.
    fn positions(&mut self, population: u64, count: u64) -> Vec<u64> {
        let asked = self.asking.blocking_send((population, count));
        asked.ok().and_then(|()| self.told.blocking_recv()).unwrap_or_default()
    }
}

#[async_trait]
impl FeedbackStore for DieselStorage {
    async fn pick_positive(
        &self,
        count: u64,
        entropy: &dyn Entropy,
    ) -> Result<Vec<Arc<Feedback>>, StoreError> {
        // Chance stays on this side and the snapshot on the other.
        let (asking, mut asked) = mpsc::channel(1);
        let (tell, told) = mpsc::channel(1);
        let (mut draw, unreadable) = (Draw { asking, told }, self.unreadable());
        let mut reading = pin!(self.snapshot(move |db| Ok(pick(db, count, &mut draw, &unreadable)?)));
        loop {
            tokio::select! {
                entries = &mut reading => return entries,
                Some((population, count)) = asked.recv() => {
                    // It has room: whoever asks waits for the answer first.
                    let _ = tell.try_send(distinct_positions(population, count, entropy));
                }
            }
        }
    }

    async fn find(&self, id: &FeedbackId) -> Result<Option<Arc<Feedback>>, StoreError> {
        let (id, unreadable) = (id.to_string(), self.unreadable());
        self.read(move |db| {
            let row: QueryResult<FeedbackRow> =
                feedback::table.find(id).select(FeedbackRow::as_select()).first(db);
            Ok(row.optional()?.and_then(|row| unreadable.one(row)).map(Arc::new))
        })
        .await
    }

    async fn put(&self, feedback: &Feedback) -> Result<Tally, StoreError> {
        let entry = feedback.clone();
        self.write(move |write| put(write, &entry)).await
    }

    async fn remove(&self, id: &FeedbackId) -> Result<Tally, StoreError> {
        let id = id.clone();
        self.write(move |write| remove(write, id.as_str())).await
    }
}
