//! Bulk writes whose caller is cancelled, or must not block.

use super::common::{add, replacing};
use crate::conformance::{
    Fresh, Stores,
    concurrency::CancelledWrite,
    sample::{at, feedback, feedback_id, grant, guild, guild_id, member, session, staff, user_id},
    stream::Stream,
};
use companion_domain::{
    change::{Key, Kind},
    model::{StaffPermission, UserId},
    port::{Grant, GrantVersion, Record},
};
use std::sync::Arc;

fn user(number: u64) -> UserId {
    user_id(number + 1)
}

/// Returns one record of each kind that belongs to a user.
fn everything_of(number: u64) -> Vec<Record> {
    let (user, id) = (user(number), guild_id(number + 1));
    vec![
        Record::Guild(guild(id)),
        Record::Member(member(id, user, &[1])),
        Record::Staff(user, staff([StaffPermission::Support])),
        Record::Feedback(feedback(&format!("f-{number}"), 5, user)),
        Record::Session(session(number, user, at(0))),
        Record::Grant(user, Grant { version: GrantVersion(1), content: grant(1) }),
    ]
}

/// Returns which of them exist.
async fn left(stores: &Arc<Stores>, number: u64) -> [bool; 6] {
    let (user, id) = (user(number), guild_id(number + 1));
    let seen = stores.guilds.with_roles(user, &[id]).await.unwrap();
    [
        !seen.is_empty(),
        seen.iter().any(|seen| !seen.roles.is_empty()),
        stores.records.find(&Key::Staff(user)).await.unwrap().is_some(),
        stores.feedback.find(&feedback_id(&format!("f-{number}"))).await.unwrap().is_some(),
        !stores.sessions.of_user(user).await.unwrap().is_empty(),
        stores.grants.find(user).await.unwrap().is_some(),
    ]
}

async fn further(stores: &Arc<Stores>) {
    add(stores, vec![]).await;
    stores.records.forget(user_id(u64::MAX)).await.unwrap();
}

pub(super) async fn a_cancelled_write_is_complete_or_absent(fresh: &Fresh<Stores>) {
    let nothing = async |_: &Arc<Stores>, _| {};
    let sync = async |stores: &Arc<Stores>, number| {
        let mut stream = Stream::of(everything_of(number), 2);
        stores.records.sync(&replacing([Kind::Subscription]), &mut stream).await.unwrap();
    };
    let what = "a sync";
    CancelledWrite { fresh, what, ready: nothing, write: sync, look: left, further }
        .leaves_all_or_nothing()
        .await;

    // Other users than before, so that no earlier data interferes.
    const LATER: u64 = 100_000;
    let ready = async |stores: &Arc<Stores>, number| add(stores, everything_of(LATER + number)).await;
    let forget =
        async |stores: &Arc<Stores>, number| stores.records.forget(user(LATER + number)).await.unwrap();
    let look = async |stores: &Arc<Stores>, number| left(stores, LATER + number).await;
    let what = "forgetting";
    CancelledWrite { fresh, what, ready, write: forget, look, further }.leaves_all_or_nothing().await;
}

pub(super) async fn a_write_does_not_block_the_polling_thread(fresh: &Fresh<Stores>) {
    fresh.waits_elsewhere(async |stores| add(stores, everything_of(1)).await).await;
    fresh.waits_elsewhere(async |stores| stores.records.forget(user(1)).await.unwrap()).await;
}
