//! Settings of the simulated bot: what it lets people set, and how it acts by it.

use super::{ManagementClient, RequestError};
use companion_domain::model::GuildId;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// Pause before the stream of changes is opened again.
const RECONNECT_AFTER: Duration = Duration::from_secs(1);
/// The field in which the bot shows what it makes of the others.
const GREETING: &str = "shown.greeting";
const MESSAGE: &str = "welcome.message";
const SILENT: &str = "Newcomers are not greeted.";

/// The settings of a guild, as far as the bot uses them.
#[derive(Deserialize)]
struct Found {
    revision: u64,
    applied: Option<u64>,
    values: Map<String, Value>,
}

/// The schema: three sections with every type of field, and one that shows what the bot does.
const SCHEMA: &str = include_str!("settings.json");

/// Publishes the schema.
pub(super) async fn publish(api: &ManagementClient) -> Result<(), RequestError> {
    api.send("PUT", "/bot/settings", SCHEMA).await
}

/// Acts by every change of what people set, as it happens. Never returns.
pub(super) async fn keep_applying(api: ManagementClient) {
    loop {
        if let Err(error) = follow(&api).await {
            tracing::debug!("the simulated bot could not follow changes: {error}");
        }
        tokio::time::sleep(RECONNECT_AFTER).await;
    }
}

async fn follow(api: &ManagementClient) -> Result<(), RequestError> {
    let mut stream = api.lines("/bot/changes?kinds=settings").await?;
    while let Some(line) = stream.next_line().await? {
        let change = line.strip_prefix("data: ").and_then(|data| serde_json::from_str::<Value>(data).ok());
        let guild = change.and_then(|change| change.get("guild")?.as_str()?.parse::<GuildId>().ok());
        if let Some(guild) = guild {
            apply(api, guild).await?;
        }
    }
    Ok(())
}

/// Acts by the settings of a guild, and confirms them.
async fn apply(api: &ManagementClient, guild: GuildId) -> Result<(), RequestError> {
    let path = format!("/bot/guilds/{guild}/settings");
    let mut found: Found = api.request("GET", &path, "").await?;
    if found.applied == Some(found.revision) {
        return Ok(());
    }
    let (greeting, problem) = greeting(&found.values);
    if found.values.get(GREETING) != Some(&greeting) {
        let change = json!({"values": {GREETING: greeting}});
        found = api.request("PATCH", &path, &change.to_string()).await?;
    }
    let problems: Vec<_> =
        problem.map(|message| json!({"key": MESSAGE, "message": message})).into_iter().collect();
    let confirmation = json!({"revision": found.revision, "problems": problems});
    api.send("PUT", &format!("{path}/applied"), &confirmation.to_string()).await
}

/// Returns what the bot would say to a newcomer, and why it does not say what people set.
fn greeting(values: &Map<String, Value>) -> (Value, Option<&'static str>) {
    let message = values.get(MESSAGE).and_then(Value::as_str).unwrap_or_default();
    if values.get("welcome.on") == Some(&Value::Bool(false)) {
        return (json!(SILENT), None);
    }
    if message.contains("@everyone") {
        return (json!(SILENT), Some("I may not mention everyone. Leave @everyone out."));
    }
    (json!(message.replace("{name}", "Sample Newcomer")), None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use companion_domain::settings::FieldKind;
    use companion_records::read_schema;

    #[test]
    fn the_schema_is_valid_and_has_every_type() {
        assert!(read_schema(&Ok(serde_json::from_str(SCHEMA).unwrap())).is_ok());
        for kind in FieldKind::ALL {
            assert!(SCHEMA.contains(&format!("\"type\": \"{kind}\"")), "{kind}");
        }
    }

    #[test]
    fn one_value_is_refused_with_a_problem() {
        let said = |on: bool, message: &str| {
            let values = json!({"welcome.on": on, "welcome.message": message});
            greeting(values.as_object().unwrap())
        };
        assert_eq!(said(true, "Hi, {name}!"), (json!("Hi, Sample Newcomer!"), None));
        assert_eq!(said(false, "Hi"), (json!(SILENT), None));
        assert!(said(true, "Hi @everyone").1.is_some());
    }
}
