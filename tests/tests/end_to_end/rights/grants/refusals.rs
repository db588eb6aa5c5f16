//! A grant that the platform does not accept costs a few calls, however often its user asks.

use super::GUILD;
use crate::rights::stage::{REFRESH_AFTER, STALE_FOR, Stage, USER};
use companion_dev_identity::{ErrorBody, Fault, Route};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);
const NO: Fault = Fault::Status { status: 401, body: ErrorBody::Json };

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_polls_with_a_refused_grant_costs_two_refusals_and_one_token() {
    let stage = Stage::new().await;
    let token = stage.arrives(USER, vec![GUILD.joined(true, 0)]).await;
    let (lists, tokens) = (stage.control.calls(Route::Guilds), stage.control.calls(Route::Token));
    stage.control.fail(Route::Guilds, NO);
    stage.pass(REFRESH_AFTER);
    for second in 0..30 {
        assert_eq!(stage.shown(&token).await.age, 60 + second, "the last list");
        stage.pass(SECOND);
    }
    let refused = stage.control.calls(Route::Guilds) - lists;
    let renewed = stage.control.calls(Route::Token) - tokens;
    println!("one session polling for 30 s: {refused} refused lists, {renewed} token refreshes");
    assert_eq!((refused, renewed), (2, 1));

    stage.pass(STALE_FOR);
    let refused = stage.ask(&token).await;
    assert_eq!((refused.status, refused.word().as_str()), (503, "provider_limited"));
    assert_eq!(stage.control.calls(Route::Guilds) - lists, 2, "it stays alone until it changes");

    stage.control.clear_all();
    let again = stage.signs_in(USER).await;
    assert_eq!(stage.shown(&again).await.age, 0);
    assert_eq!(stage.shown(&token).await.age, 0, "the grant is the user's, not the session's");
    stage.stop().await;
}
