//! Feedback. The positive entries have slots, numbered from 0 without holes.

use crate::{
    connection::AnyConnection,
    error::Failure,
    row::{feedback::FeedbackRow, makes_no_sense, snowflake::to_column},
    schema::feedback,
    storage::DieselStorage,
    writer::Write,
};
use async_trait::async_trait;
use companion_domain::{
    change::{Subject, Tally},
    model::{Feedback, FeedbackId, UserId},
    port::{Entropy, FeedbackStore, StoreError},
    rules::distinct_positions,
};
use diesel::{
    ExpressionMethods, OptionalExtension, QueryDsl, QueryResult, RunQueryDsl, SelectableHelper, dsl::max,
};
use std::sync::Arc;
use tokio::sync::oneshot;

/// How many slots there are: one more than the last.
pub(crate) fn slots(db: &mut AnyConnection) -> QueryResult<i64> {
    let last: Option<i64> = feedback::table.select(max(feedback::slot)).first(db)?;
    Ok(last.map_or(0, |last| last + 1))
}

fn in_slot(db: &mut AnyConnection, slot: i64) -> Result<Option<Arc<Feedback>>, Failure> {
    let row: QueryResult<FeedbackRow> =
        feedback::table.filter(feedback::slot.eq(slot)).select(FeedbackRow::as_select()).first(db);
    Ok(row.optional()?.map(Feedback::try_from).transpose()?.map(Arc::new))
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

fn remove(write: &mut Write<'_>, id: &FeedbackId) -> Result<Tally, Failure> {
    let place = feedback::table.find(id.as_str());
    let kept: Option<Option<i64>> = place.select(feedback::slot).first(write.db).optional()?;
    let Some(slot) = kept else {
        return Ok(Tally::NOTHING);
    };
    diesel::delete(place).execute(write.db)?;
    if let Some(slot) = slot {
        vacate(write, slot)?;
    }
    Ok(write.noted(Tally::REMOVED, || Subject::Feedback(id.clone())))
}

/// Removes all entries of a user.
pub(super) fn forget(write: &mut Write<'_>, user: UserId) -> Result<Tally, Failure> {
    let ids: Vec<String> = feedback::table
        .filter(feedback::submitter_id.eq(to_column(user)))
        .select(feedback::id)
        .load(write.db)?;
    let mut tally = Tally::NOTHING;
    for id in ids {
        let id: FeedbackId = id.parse().map_err(makes_no_sense("feedback", "id"))?;
        tally += remove(write, &id)?;
    }
    Ok(tally)
}

fn in_slots(db: &mut AnyConnection, chosen: &[u64]) -> Result<Vec<Arc<Feedback>>, Failure> {
    let entry = |slot: &u64| {
        let found = in_slot(db, slot.cast_signed())?;
        found.ok_or(Failure::Row { table: "feedback", column: "slot" })
    };
    chosen.iter().map(entry).collect()
}

#[async_trait]
impl FeedbackStore for DieselStorage {
    async fn pick_positive(
        &self,
        count: u64,
        entropy: &dyn Entropy,
    ) -> Result<Vec<Arc<Feedback>>, StoreError> {
        // Chance stays on this side and the snapshot on the other: they tell each other the two numbers they need.
        let (tell_slots, told_slots) = oneshot::channel();
        let (tell_chosen, told_chosen) = oneshot::channel::<Vec<u64>>();
        let reading = self.snapshot(move |db| {
            let _ = tell_slots.send(slots(db)?.cast_unsigned());
            // Nobody chooses any more when nobody waits for the answer.
            let chosen = told_chosen.blocking_recv().unwrap_or_default();
            in_slots(db, &chosen)
        });
        let choosing = async {
            if let Ok(slots) = told_slots.await {
                let _ = tell_chosen.send(distinct_positions(slots, count, entropy));
            }
        };
        let (entries, ()) = tokio::join!(reading, choosing);
        entries
    }

    async fn find(&self, id: &FeedbackId) -> Result<Option<Arc<Feedback>>, StoreError> {
        let id = id.to_string();
        self.read(move |db| {
            let row: QueryResult<FeedbackRow> =
                feedback::table.find(id).select(FeedbackRow::as_select()).first(db);
            Ok(row.optional()?.map(Feedback::try_from).transpose()?.map(Arc::new))
        })
        .await
    }

    async fn put(&self, feedback: &Feedback) -> Result<Tally, StoreError> {
        let entry = feedback.clone();
        self.write(move |write| put(write, &entry)).await
    }

    async fn remove(&self, id: &FeedbackId) -> Result<Tally, StoreError> {
        let id = id.clone();
        self.write(move |write| remove(write, &id)).await
    }
}
