//! `/live`: tells an open page that it would be shown otherwise by now, as Server-Sent Events. The page then loads itself again,
//! so that what it shows is made in one place.

use crate::{
    context::DashboardContext,
    guilds, home,
    places::{Place, Share},
    status,
    view::{GAP, LivePage, Shown, View},
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

/// How often a page is looked at without news: time alone makes a bot silent, and "just now" a minute ago.
const LOOK: Duration = Duration::from_secs(5);
/// How old a look of another stream may be to serve for such a one. Less than [`LOOK`], or a stream would accept its own.
const RECENT: Duration = Duration::from_millis(2500);
/// When browsers come back after a stream has ended, in milliseconds.
const COME_BACK: &[u8] = b"retry: 2000\n\n";

/// Renders a page as it is now. Pages for everyone are rendered as to a guest.
async fn render(
    page: LivePage,
    context: &DashboardContext,
    request: &HttpRequest,
) -> Result<String, ApiError> {
    match page {
        LivePage::Home => home::render(context, &Visit::Guest, Vec::new()),
        LivePage::Status => status::render(context, &Visit::Guest),
        LivePage::Guilds => guilds::render(context, request, &visitor(context, request).await?).await,
        LivePage::Guild(guild) => {
            guilds::render_guild(context, request, &visitor(context, request).await?, guild).await
        }
    }
}

async fn visitor(context: &DashboardContext, request: &HttpRequest) -> Result<Visitor, ApiError> {
    match Visit::of(context, request).await? {
        Visit::SignedIn(visitor) => Ok(visitor),
        Visit::Guest | Visit::Ended => Err(ApiError::TokenInvalid),
    }
}

/// Streams events to a page that shows what it says it has `seen`.
pub(crate) async fn serve(
    context: web::Data<DashboardContext>,
    shell: web::Data<Shell>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let parameter = |name: &str| {
        let mut pairs = url::form_urlencoded::parse(request.query_string().as_bytes());
        pairs.find(|(key, _)| key == name).map(|(_, value)| value.into_owned()).unwrap_or_default()
    };
    let page = LivePage::at(&parameter("page")).ok_or(ApiError::NotFound)?;
    let mut places = vec![context.places.take(Share::Total)?];
    if let Some(client) = Client::of(&request, &context.settings.trusted_proxies) {
        places.push(context.places.take(Share::Address(client))?);
    }
    let session = match page {
        LivePage::Home | LivePage::Status => None,
        LivePage::Guilds | LivePage::Guild(_) => {
            let session = visitor(&context, &request).await?.session;
            places.push(context.places.take(Share::User(session.user))?);
            Some(session.id)
        }
    };
    let seen = parameter("seen");
    // Subscribed before the first look, so that no change is missed after it.
    let changes = context.changes.watch(page.subject());
    let since = *changes.borrow();
    let watch = Watch {
        beat: beat(),
        look: every(LOOK),
        view: context.views.of((page, session)),
        context,
        request,
        page,
        changes,
        since,
        seen,
        stage: Stage::Greeting,
        _places: places,
    };
    if watch.look(GAP).await.is_err() {
        // The look may be another stream's. The client is told of an error by the status, with its cause in the log.
        render(page, &watch.context, &watch.request).await?;
    }
    let events = stream::unfold(watch, async |mut watch| {
        let event = watch.next().await?;
        Some((Ok::<_, Infallible>(event), watch))
    });
    Ok(event_stream().streaming(events.take_until(shell.closing())))
}

/// An open page.
struct Watch {
    context: web::Data<DashboardContext>,
    request: HttpRequest,
    page: LivePage,
    view: Arc<View>,
    changes: watch::Receiver<u64>,
    /// The last change that it has heard of.
    since: u64,
    /// What it shows.
    seen: String,
    stage: Stage,
    beat: Interval,
    look: Interval,
    _places: Vec<Place>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Greeting,
    /// It may show something else since it was loaded.
    Comparing,
    Watching,
    Over,
}

impl Watch {
    /// Looks at what the page shows by now.
    async fn look(&self, max_age: Duration) -> Result<Shown, StatusCode> {
        let render = async || render(self.page, &self.context, &self.request).await;
        self.view.look(&self.changes, self.since, max_age, render).await
    }

    /// The next event, when there is one. Nothing at the end.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            let mut max_age = RECENT;
            match self.stage {
                Stage::Greeting => {
                    self.stage = Stage::Comparing;
                    return Some(Bytes::from_static(COME_BACK));
                }
                Stage::Comparing => {
                    self.stage = Stage::Watching;
                    max_age = GAP;
                }
                Stage::Over => return None,
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
                // What cannot be looked at now can be later.
                Err(status) if status.is_server_error() => {}
                Err(_) => {
                    self.stage = Stage::Over;
                    return Some(Bytes::from_static(b"event: ended\ndata:\n\n"));
                }
            }
        }
    }
}
