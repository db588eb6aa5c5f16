//! What happens to a user's guilds and sessions when something happens to their grant.

mod crash;
mod keys;
mod refusals;
mod tampering;
mod withdrawal;

use super::{
    guild::{Guild, MANAGING},
    stage::{OTHER, Stage, USER},
};
use serde_json::Value;

const GUILD: Guild = Guild(500);

fn owned() -> [Value; 1] {
    [GUILD.shown("Owner", &MANAGING)]
}

/// Two users who own the guild sign in. Returns the tokens of their sessions.
async fn two_arrive(stage: &Stage) -> (String, String) {
    stage.reports(GUILD, &[]).await;
    let one = stage.arrives(USER, vec![GUILD.joined(true, 0)]).await;
    (one, stage.arrives(OTHER, vec![GUILD.joined(true, 0)]).await)
}

/// The session is over, and says so clearly; so is every other of the user, and a new sign-in works.
async fn must_sign_in_again(stage: &Stage, token: &str) {
    let ended = stage.ask(token).await;
    assert_eq!((ended.status, ended.word().as_str()), (401, "token_invalid"), "{}", ended.body);
    assert!(ended.body.contains("Sign in again"), "{}", ended.body);
    assert_eq!(stage.sessions(USER).await, 0);
    let again = stage.ask(token).await;
    assert_eq!((again.status, again.word().as_str()), (401, "token_invalid"), "{}", again.body);
    let new = stage.signs_in(USER).await;
    assert_eq!(stage.shown(&new).await.guilds, owned());
}
