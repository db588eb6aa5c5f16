//! `/live`: notifies an open page that its content has changed, with server-sent events. The page then reloads itself,
//! so that its content is rendered in one place.

use crate::{
    context::DashboardContext,
    form::parameter,
    guild_list, home, hub,
    page::Theme,
    settings, status,
    stream_limiter::{LimitKey, StreamPermit},
    view::{LivePage, MIN_INTERVAL, Shown, View},
    visitor::{Visit, Visitor},
};
use actix_web::{
    HttpRequest, HttpResponse,
    http::StatusCode,
    web::{self, Bytes},
};
use companion_http::{
    ApiError, Client, Shell,
    event_stream::{beat, event_stream, every},
};
use futures_util::{StreamExt as _, stream};
use std::{convert::Infallible, sync::Arc, time::Duration};
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
async fn render(
    page: LivePage,
    context: &DashboardContext,
    request: &HttpRequest,
) -> Result<String, ApiError> {
    match page {
        LivePage::Home => home::render(context, &Visit::Guest(Theme::System), Vec::new(), None, None),
        LivePage::Status => status::render(context, &Visit::Guest(Theme::System)),
        LivePage::Guilds => guild_list::render(context, request, &visitor(context, request).await?).await,
        LivePage::Guild(guild) => {
            settings::render(context, request, &visitor(context, request).await?, guild, false).await
        }
        LivePage::Permissions(guild) => {
            hub::render_permissions(context, request, &visitor(context, request).await?, guild).await
        }
        LivePage::History(guild) => {
            settings::render_history(context, request, &visitor(context, request).await?, guild, None).await
        }
    }
}

async fn visitor(context: &DashboardContext, request: &HttpRequest) -> Result<Visitor, ApiError> {
    match Visit::of(context, request).await? {
        Visit::SignedIn(visitor) => Ok(visitor),
        Visit::Guest(_) | Visit::Ended(_) => Err(ApiError::TokenInvalid),
    }
}

/// Streams events to a page whose content has the fingerprint `seen`.
pub(crate) async fn serve(
    context: web::Data<DashboardContext>,
    shell: web::Data<Shell>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let page = LivePage::at(&parameter(&request, "page").unwrap_or_default()).ok_or(ApiError::NotFound)?;
    let mut permits = vec![context.stream_limiter.acquire(LimitKey::Total)?];
    if let Some(client) = Client::of(&request, &context.settings.trusted_proxies) {
        permits.push(context.stream_limiter.acquire(LimitKey::Address(client))?);
    }
    let session = match page {
        LivePage::Home | LivePage::Status => None,
        LivePage::Guilds | LivePage::Guild(_) | LivePage::Permissions(_) | LivePage::History(_) => {
            let session = visitor(&context, &request).await?.session;
            permits.push(context.stream_limiter.acquire(LimitKey::User(session.user))?);
            Some(session.id)
        }
    };
    let seen = parameter(&request, "seen").unwrap_or_default();
    // Subscribed before the first look, so that no later change is missed.
    let changes = context.changes.watch(page.subject());
    let since = *changes.borrow();
    let watch = Watch {
        beat: beat(),
        look: every(RENDER_INTERVAL),
        view: context.views.of((page, session)),
        context,
        request,
        page,
        changes,
        since,
        seen,
        stage: Stage::Greeting,
        _permits: permits,
    };
    if watch.look(MIN_INTERVAL).await.is_err() {
        // The failed look may be another stream's. Rendering again gives this client the status, and the log the cause.
        render(page, &watch.context, &watch.request).await?;
    }
    let events = stream::unfold(watch, async |mut watch| {
        let event = watch.next().await?;
        Some((Ok::<_, Infallible>(event), watch))
    });
    Ok(event_stream().streaming(events.take_until(shell.closing())))
}

/// The stream of an open page.
struct Watch {
    context: web::Data<DashboardContext>,
    request: HttpRequest,
    page: LivePage,
    view: Arc<View>,
    changes: watch::Receiver<u64>,
    /// The last change it was notified of.
    since: u64,
    /// Fingerprint of what the page shows.
    seen: String,
    stage: Stage,
    beat: Interval,
    look: Interval,
    _permits: Vec<StreamPermit>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Greeting,
    /// The content may have changed since the page was loaded.
    Comparing,
    Watching,
    Ended,
}

impl Watch {
    /// Returns what the page shows now.
    async fn look(&self, max_age: Duration) -> Result<Shown, StatusCode> {
        let render = async || render(self.page, &self.context, &self.request).await;
        self.view.look(&self.changes, self.since, max_age, render).await
    }

    /// Waits for the next event. Returns `None` at the end of the stream.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            let mut max_age = MAX_SHARED_AGE;
            match self.stage {
                Stage::Greeting => {
                    self.stage = Stage::Comparing;
                    return Some(Bytes::from_static(RECONNECT));
                }
                Stage::Comparing => {
                    self.stage = Stage::Watching;
                    max_age = MIN_INTERVAL;
                }
                Stage::Ended => return None,
                Stage::Watching => tokio::select! {
                    _ = self.beat.tick() => return Some(Bytes::from_static(b": still here\n\n")),
                    _ = self.look.tick() => {}
                    news = self.changes.changed() => {
                        news.ok()?;
                        self.since = *self.changes.borrow_and_update();
                    }
                },
            }
            match self.look(max_age).await {
                Ok(now) if now.fingerprint == self.seen => {}
                Ok(now) => {
                    self.seen = now.fingerprint;
                    return Some(now.event);
                }
                // Server errors are temporary; the next look retries.
                Err(status) if status.is_server_error() => {}
                Err(_) => {
                    self.stage = Stage::Ended;
                    return Some(Bytes::from_static(b"event: ended\ndata:\n\n"));
                }
            }
        }
    }
}
