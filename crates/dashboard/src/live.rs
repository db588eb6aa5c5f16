//! `/live`: notifies an open page that its content has changed, with server-sent events. The page then reloads itself,
//! so that its content is rendered in one place.

use crate::{
    context::Exchange,
    guild_list, home, hub,
    page::{Answer, Navigation, Theme},
    settings, status,
    view::{LimitKey, LivePage, MIN_INTERVAL, StreamPermit, View},
    visitor::{Visit, Visitor},
};
use actix_web::{
    http::StatusCode,
    web::{self, Bytes},
};
use companion_http::{
    ApiError, Client, Shell,
    event_stream::{beat, event_stream, every},
};
use futures_util::{StreamExt as _, stream};
use std::{convert::Infallible, future::ready, sync::Arc, time::Duration};
use tokio::{sync::watch, time::Interval};

/// Interval at which a page is rendered without a change: time alone makes a bot silent, and turns "just now" into "a
/// minute ago".
const RENDER_INTERVAL: Duration = Duration::from_secs(5);
/// Maximum age of another stream's result that is reused at that interval. It is less than [`RENDER_INTERVAL`], so that
/// a stream does not reuse its own.
const MAX_SHARED_AGE: Duration = Duration::from_millis(2500);
/// Reconnect delay of browsers, in milliseconds.
const RECONNECT: &[u8] = b"retry: 2000\n\n";

/// Renders a page as it is now. Public pages are rendered as for a guest.
async fn render(page: LivePage, exchange: &Exchange) -> Result<String, ApiError> {
    let guest = || Navigation::guest(Theme::System, String::new());
    match page {
        LivePage::Home => home::render(&exchange.context, guest(), home::Content::default()),
        LivePage::Status => status::render(&exchange.context, guest()),
        LivePage::Guilds => guild_list::render(&visitor(exchange).await?).await,
        LivePage::Guild(guild) => settings::render(&visitor(exchange).await?, guild, false).await,
        LivePage::Permissions(guild) => hub::render_permissions(&visitor(exchange).await?, guild).await,
        LivePage::History(guild) => settings::render_history(&visitor(exchange).await?, guild, None).await,
    }
}

async fn visitor(exchange: &Exchange) -> Result<Visitor, ApiError> {
    match Visit::of(exchange).await? {
        Visit::SignedIn(visitor) => Ok(visitor),
        Visit::Guest | Visit::Ended => Err(ApiError::TokenInvalid),
    }
}

/// Streams events to a page whose content has the fingerprint `seen`.
pub(crate) async fn serve(exchange: Exchange, shell: web::Data<Shell>) -> Answer {
    let page = LivePage::at(&exchange.parameter("page").unwrap_or_default()).ok_or(ApiError::NotFound)?;
    let Exchange { context, request } = &exchange;
    let mut permits = vec![context.stream_limiter.acquire(LimitKey::Total)?];
    if let Some(client) = Client::of(request, &context.settings.trusted_proxies) {
        permits.push(context.stream_limiter.acquire(LimitKey::Address(client))?);
    }
    let session = match page {
        LivePage::Home | LivePage::Status => None,
        LivePage::Guilds | LivePage::Guild(_) | LivePage::Permissions(_) | LivePage::History(_) => {
            let session = visitor(&exchange).await?.session;
            permits.push(context.stream_limiter.acquire(LimitKey::User(session.user))?);
            Some(session.id)
        }
    };
    // Subscribed before the first look, so that no later change is missed.
    let changes = context.changes.watch(page.subject());
    let since = *changes.borrow();
    let watch = Watch {
        seen: exchange.parameter("seen").unwrap_or_default(),
        is_new: true,
        beat: beat(),
        look: every(RENDER_INTERVAL),
        view: context.views.of((page, session)),
        changes,
        since,
        page,
        exchange,
        _permits: permits,
    };
    if watch.look(MIN_INTERVAL).await.is_err() {
        // The failed look may be another stream's. Rendering again gives this client the status, and the log the cause.
        render(page, &watch.exchange).await?;
    }
    let greeting = stream::once(ready(Bytes::from_static(RECONNECT)));
    let events = greeting.chain(stream::unfold(Some(watch), async |watch| watch?.next().await));
    Ok(event_stream().streaming(events.map(Ok::<_, Infallible>).take_until(shell.closing())))
}

/// The stream of an open page.
struct Watch {
    exchange: Exchange,
    page: LivePage,
    view: Arc<View>,
    changes: watch::Receiver<u64>,
    /// The last change it was notified of.
    since: u64,
    /// Fingerprint of what the page shows.
    seen: String,
    /// Whether the page has not been compared with what it showed when it was loaded.
    is_new: bool,
    beat: Interval,
    look: Interval,
    _permits: Vec<StreamPermit>,
}

impl Watch {
    /// Returns the fingerprint of what the page shows now.
    async fn look(&self, max_age: Duration) -> Result<String, StatusCode> {
        let render = || Box::pin(render(self.page, &self.exchange));
        self.view.look(&self.changes, self.since, max_age, render).await
    }

    /// Waits for the next event. Returns it with the stream that goes on, if it does.
    async fn next(mut self) -> Option<(Bytes, Option<Self>)> {
        loop {
            let max_age = if self.is_new { MIN_INTERVAL } else { MAX_SHARED_AGE };
            if !self.is_new {
                tokio::select! {
                    _ = self.beat.tick() => {
                        return Some((Bytes::from_static(b": still here\n\n"), Some(self)));
                    }
                    _ = self.look.tick() => {}
                    news = self.changes.changed() => {
                        news.ok()?;
                        self.since = *self.changes.borrow_and_update();
                    }
                }
            }
            self.is_new = false;
            match self.look(max_age).await {
                Ok(now) if now == self.seen => {}
                Ok(now) => {
                    self.seen = now;
                    let event = format!("event: change\ndata: {}\n\n", self.seen);
                    return Some((event.into(), Some(self)));
                }
                // Server errors are temporary; the next look retries.
                Err(status) if status.is_server_error() => {}
                Err(_) => return Some((Bytes::from_static(b"event: ended\ndata:\n\n"), None)),
            }
        }
    }
}
