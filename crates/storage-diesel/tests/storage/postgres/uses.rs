//! Writing the last use of sessions while other nodes write.

use crate::{
    postgres::schema::Schema,
    sample::{Batches, session, user},
    shared::Place,
};
use companion_domain::{
    model::Timestamp,
    port::{Record, Records, Replace, SessionStore},
    session::Uses,
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};

const SESSIONS: u64 = 20_000;

#[tokio::test(flavor = "multi_thread")]
async fn touching_20000_sessions_blocks_no_writer() {
    let schema = Schema::new();
    let (one, other) = (schema.open().await, schema.open().await);
    let records = (0..SESSIONS).map(|number| Record::Session(session(number))).collect();
    one.sync(&Replace::default(), &mut Batches::of(records)).await.unwrap();
    let seen: Vec<_> = (0..SESSIONS).map(|number| (session(number).id, Timestamp::from_micros(9))).collect();
    let done = Arc::new(AtomicBool::new(false));
    let bystander = tokio::spawn({
        let done = Arc::clone(&done);
        async move {
            let (mut waits, mut failed) = (Vec::new(), 0);
            while !done.load(SeqCst) {
                let begun = Instant::now();
                failed += u32::from(other.put(Record::Blocked(user(1 + waits.len() as u64))).await.is_err());
                waits.push(begun.elapsed());
            }
            (waits, failed)
        }
    });
    let begun = Instant::now();
    for batch in Uses::batches(&seen) {
        one.touch(batch).await.unwrap();
    }
    let took = begun.elapsed();
    done.store(true, SeqCst);
    let (waits, failed) = bystander.await.unwrap();
    let longest = waits.iter().max().copied().unwrap_or(Duration::ZERO);
    println!(
        "the use of {SESSIONS} sessions is written in {took:?}; meanwhile another node writes {} times, {failed} of them \
         in vain, and waits {longest:?} at most",
        waits.len()
    );
    assert_eq!(failed, 0);
    for number in [0, SESSIONS / 2, SESSIONS - 1] {
        let stored = SessionStore::find(&one, &session(number).id).await.unwrap().unwrap();
        assert_eq!(stored.last_seen_at, Timestamp::from_micros(9));
    }
}
