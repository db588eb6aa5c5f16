//! Writes whose caller stops waiting.

use super::common::{MANY, make, touch};
use crate::conformance::{
    Fresh,
    given_up::GivenUp,
    sample::{NONE_OVER, at, session, user_id},
};
use companion_domain::{
    model::{Timestamp, UserId},
    port::SessionStore,
    session::{Cutoffs, Session},
};
use std::{num::NonZeroU32, sync::Arc};

const THREE: NonZeroU32 = NonZeroU32::new(3).unwrap();
/// Whom no write is about.
const NOBODY: u64 = 9999;

fn user(number: u64) -> UserId {
    user_id(number + 1)
}

/// The `index`th session of the `number`th user, as it was made.
fn made(number: u64, index: u64) -> Session {
    session(10 * number + index, user(number), at(i64::try_from(index).unwrap()))
}

/// Makes the first three of a user.
async fn three(store: &Arc<dyn SessionStore>, number: u64) {
    make(&**store, &[1, 2, 3].map(|index| made(number, index))).await;
}

/// What a user's sessions are and when they were used, whoever the user is.
async fn left(store: &Arc<dyn SessionStore>, number: u64) -> Vec<(Timestamp, Timestamp)> {
    let sessions = store.of_user(user(number)).await.unwrap();
    let mut found = Vec::new();
    for session in &sessions {
        found.extend(store.find(&session.id).await.unwrap());
    }
    assert_eq!(found, sessions, "whoever lists sessions can find them");
    sessions.iter().map(|session| (session.created_at, session.last_seen_at)).collect()
}

async fn further(store: &Arc<dyn SessionStore>) {
    store.revoke_user(user_id(NOBODY)).await.unwrap();
    make(&**store, &[session(NOBODY, user_id(NOBODY), at(i64::MAX >> 16))]).await;
}

/// Gives a write up that is about the sessions of one user, from the user `first` on.
async fn check(
    fresh: &Fresh<dyn SessionStore>,
    first: u64,
    what: &'static str,
    write: impl AsyncFn(&Arc<dyn SessionStore>, u64),
) {
    let given_up = GivenUp {
        fresh,
        what,
        ready: async |store: &Arc<dyn SessionStore>, number| three(store, first + number).await,
        write: async |store: &Arc<dyn SessionStore>, number| write(store, first + number).await,
        look: async |store: &Arc<dyn SessionStore>, number| left(store, first + number).await,
        further,
    };
    given_up.leaves_all_or_nothing().await;
}

pub(super) async fn a_write_that_is_given_up_is_made_whole_or_not_at_all(fresh: &Fresh<dyn SessionStore>) {
    check(fresh, 10_000, "a session in the place of another", async |store, number| {
        store.create(&made(number, 4), THREE, NONE_OVER).await.unwrap();
    })
    .await;
    check(fresh, 20_000, "a touch", async |store, number| {
        touch(&**store, &[1, 2, 3].map(|index| (made(number, index).id, at(50)))).await;
    })
    .await;
    check(fresh, 30_000, "a revocation", async |store, number| {
        store.revoke_user(user(number)).await.unwrap();
    })
    .await;
    check(fresh, 40_000, "a prune", async |store, _| {
        store.prune(Cutoffs { created: at(1000), ..NONE_OVER }, MANY).await.unwrap();
    })
    .await;
    check(fresh, 50_000, "a rewind", async |store, _| {
        store.rewind(at(-3_600_000_000), MANY).await.unwrap();
    })
    .await;
}
