//! Changes of the sample world while the demo runs, and their intervals.

use super::{
    ManagementClient, RequestError, snowflake,
    world::{MODERATOR, PROMOTION_GUILD, SampleRole, TRANSIENT_GUILD, guild_id, guilds, to_lines},
};
use serde_json::json;
use std::time::Duration;

/// Number of steps in a cycle. In the second half the bot has joined the guild that it joins and leaves, and the
/// moderator is promoted.
const STEPS_PER_CYCLE: u64 = 10;

/// Changes the sample world at this interval. The initial data of the sample users stays, so that each of them always
/// has something to see. Never returns.
pub(super) async fn keep_moving(api: ManagementClient, cdn: String, every: Duration) {
    for step in (1..=STEPS_PER_CYCLE).cycle() {
        tokio::time::sleep(every).await;
        if let Err(error) = make_step(&api, &cdn, step).await {
            tracing::warn!("the sample world could not move: {error}");
        }
    }
}

/// Sends a step as one sync, so that readers never see half of it.
async fn make_step(api: &ManagementClient, cdn: &str, step: u64) -> Result<(), RequestError> {
    let second_half = step > STEPS_PER_CYCLE / 2;
    if !second_half {
        api.send("DELETE", &format!("/bot/guilds/{}", guild_id(TRANSIENT_GUILD)), "").await?;
    }
    let mut records = guilds(cdn, step, second_half);
    let roles: Vec<_> = second_half.then(|| SampleRole::Moderator.id()).into_iter().collect();
    let (guild, user) = (guild_id(PROMOTION_GUILD).to_string(), snowflake(MODERATOR).to_string());
    records.push(json!({"kind": "member", "guild": guild, "user": user, "roles": roles}));
    api.send("POST", "/bot/sync", &to_lines(records)).await
}

/// Intervals of the demo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Between two reports of the bot.
    pub report: Duration,
    /// Between two steps of the world.
    pub step: Duration,
}

impl Default for Pace {
    /// Reports often enough to keep clusters alive, and slowly enough to follow the steps.
    fn default() -> Self {
        Self { report: Duration::from_secs(5), step: Duration::from_secs(4) }
    }
}
