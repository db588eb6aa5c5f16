//! One code is good for one session, whoever else posts it at the same moment.

use super::{
    alone,
    stage::{Stage, USER},
};
use crate::served::Client;
use companion_dev_identity::Route;
use companion_domain::model::UserId;
use std::{collections::BTreeMap, sync::Arc, time::Instant};
use tokio::{sync::Barrier, task::JoinSet};

const CALLERS: usize = 1000;

#[tokio::test(flavor = "multi_thread")]
async fn of_a_thousand_who_post_one_code_at_once_one_gets_a_session_for_one_call() {
    let _turn = alone().await;
    // All callers share an address here, and each but one posts a code that is refused.
    let stage = Stage::with(&[("COMPANION_LIMITS__REFUSED_CODES_PER_MINUTE", "1000000")]).await;
    let code = Arc::new(stage.code());
    let ready = Arc::new(Barrier::new(CALLERS + 1));
    let mut callers = JoinSet::new();
    for _ in 0..CALLERS {
        let mut client = Client::connect(stage.served.public).await;
        let (code, ready) = (Arc::clone(&code), Arc::clone(&ready));
        callers.spawn(async move {
            ready.wait().await;
            client.sign_in(&code).await
        });
    }
    ready.wait().await;
    let begun = Instant::now();
    let mut answers = BTreeMap::new();
    for answer in callers.join_all().await {
        *answers.entry((answer.status, answer.word())).or_insert(0) += 1;
    }
    let calls = stage.control.calls(Route::Token);
    let user = UserId::new(USER).unwrap();
    let sessions = stage.served.adapters.stores.sessions.of_user(user).await.unwrap().len();
    println!(
        "{CALLERS} concurrent posts of one code: {answers:?}, outbound token calls {calls}, sessions {sessions}, {} ms",
        begun.elapsed().as_millis()
    );
    let expected = [((200, String::new()), 1), ((401, "idp_code_invalid".to_owned()), CALLERS - 1)];
    assert_eq!(answers, expected.into());
    assert_eq!((calls, sessions), (1, 1));
    stage.stop().await;
}
