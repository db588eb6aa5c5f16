//! Alerts to a webhook: the bot is silent or has missed shards, and the bot is well again.

use crate::{
    configuration::{Configuration, SecretUrl},
    error::{ProgramError, failed},
};
use companion_domain::{
    model::Secret,
    usecase::{Alert, WatchBot},
};
use reqwest::{Client, redirect::Policy};
use serde_json::json;
use std::{fmt::Display, sync::Arc, time::Duration};
use tokio::{
    sync::mpsc::UnboundedReceiver,
    time::{sleep, timeout},
};

/// Deadline of one request.
const DEADLINE: Duration = Duration::from_secs(5);
/// The first pause after a failure. Each further one is twice as long, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// How often an alert is tried, for about an hour.
const MAX_TRIES: u32 = 120;

/// The receiver of alerts.
pub(super) struct Webhook {
    client: Client,
    url: Secret,
    /// The name of the bot.
    name: String,
}

impl Webhook {
    /// Creates a client for the configured address, if there is one.
    pub(super) fn of(configuration: &Configuration) -> Result<Option<Self>, ProgramError> {
        let Some(SecretUrl(url)) = configuration.bot.alert_url.clone() else { return Ok(None) };
        let refused = |error: &dyn Display| failed(format_args!("alerts cannot be sent: {error}"));
        let tls = companion_identity_oauth2::platform_tls().map_err(|error| refused(&error))?;
        let client = Client::builder()
            .user_agent(concat!("Companion/", env!("CARGO_PKG_VERSION")))
            .tls_backend_preconfigured(tls)
            .redirect(Policy::none())
            .retry(reqwest::retry::never())
            .timeout(DEADLINE)
            .build();
        let client = client.map_err(|error| refused(&error.without_url()))?;
        Ok(Some(Self { client, url, name: configuration.dashboard.name.0.to_string() }))
    }

    /// Posts an alert. The error does not contain the address.
    async fn post(&self, alert: &Alert) -> Result<(), String> {
        let text = alert.text(&self.name);
        // Chat platforms read `content` or `text`. A name that looks like a mention notifies no one.
        let body = json!({"content": text, "text": text, "allowed_mentions": {"parse": []}}).to_string();
        let request =
            self.client.post(self.url.expose()).header("Content-Type", "application/json").body(body);
        let response = request.send().await.map_err(|error| error.without_url().to_string())?;
        let status = response.status();
        if status.is_success() { Ok(()) } else { Err(format!("the webhook answered {status}")) }
    }
}

/// Sends alerts in order. A newer alert replaces one that could not be sent.
pub(super) async fn deliver(
    watch_bot: Arc<WatchBot>,
    webhook: Webhook,
    mut alerts: UnboundedReceiver<Alert>,
) {
    while let Some(first) = alerts.recv().await {
        let (mut next, mut pause, mut tries) = (Some(first), FIRST_PAUSE, 0);
        while let Some(alert) = next.take() {
            tries += 1;
            let posted = webhook.post(&alert).await;
            match &posted {
                Ok(()) => tracing::info!(tries, "sent an alert"),
                Err(error) if tries == 1 => tracing::warn!("cannot send an alert, trying again: {error}"),
                Err(error) if tries == MAX_TRIES => tracing::warn!("gave up sending an alert: {error}"),
                Err(_) => {}
            }
            // Without the store this node may not send: another one may have taken over.
            next = keep(&watch_bot, alert, posted.is_ok() || tries == MAX_TRIES).await;
            if next.is_none() {
                break;
            }
            if let Ok(Some(newer)) = timeout(pause, alerts.recv()).await {
                (next, pause, tries) = (Some(newer), FIRST_PAUSE, 0);
            } else {
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    }
}

/// Stores that the alert is over, or that this node goes on with it, as soon as the store accepts it.
async fn keep(watch_bot: &WatchBot, alert: Alert, is_over: bool) -> Option<Alert> {
    loop {
        match watch_bot.sent(alert.clone(), is_over).await {
            Ok(next) => return next,
            Err(_) => sleep(FIRST_PAUSE).await,
        }
    }
}
