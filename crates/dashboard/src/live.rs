//! `/live`: tells an open page that it would be shown otherwise by now, as Server-Sent Events. The page then loads itself again,
//! so that what it shows is made in one place.

use crate::{
    change_signal::Subject,
    context::DashboardContext,
    fingerprint, guild, guilds, home, status,
    visitor::{Visit, Visitor},
};
use actix_web::{
    HttpRequest, HttpResponse,
    web::{self, Bytes},
};
use companion_domain::model::GuildId;
use companion_http::{
    ApiError, Shell,
    event_stream::{beat, event_stream, every},
};
use futures_util::{future::LocalBoxFuture, stream};
use std::{convert::Infallible, time::Duration};
use tokio::{
    sync::{OwnedSemaphorePermit, watch},
    time::{Instant, Interval, sleep_until},
};

/// When those who are too many may try again.
const TRY_AGAIN: Duration = Duration::from_secs(30);
/// How often a page is looked at without news: time alone makes a bot silent, and "just now" a minute ago.
const LOOK: Duration = Duration::from_secs(5);
/// How long at least is between two looks at the same page, however much changes.
const GAP: Duration = Duration::from_millis(250);
/// When browsers come back after a stream has ended, in milliseconds.
const COME_BACK: &[u8] = b"retry: 2000\n\n";

/// A page that can be live.
enum LivePage {
    Home,
    Status,
    Guilds,
    Guild(GuildId),
}

impl LivePage {
    /// The page at this path.
    fn at(path: &str) -> Option<Self> {
        match path {
            "/" => Some(Self::Home),
            "/status" => Some(Self::Status),
            "/guilds" => Some(Self::Guilds),
            _ => path.strip_prefix("/guilds/")?.parse().ok().map(Self::Guild),
        }
    }

    const fn subject(&self) -> Subject {
        match self {
            Self::Home | Self::Status => Subject::Bot,
            Self::Guilds | Self::Guild(_) => Subject::Guilds,
        }
    }

    /// The fingerprint of what it shows now. Nobody has to be signed in for what everyone may see.
    async fn look(&self, context: &DashboardContext, request: &HttpRequest) -> Result<String, ApiError> {
        let page = match self {
            Self::Home => home::render(context, &Visit::Guest, Vec::new())?,
            Self::Status => status::render(context, &Visit::Guest)?,
            Self::Guilds => guilds::render(context, request, &visitor(context, request).await?).await?,
            Self::Guild(guild) => {
                guild::render(context, request, &visitor(context, request).await?, *guild).await?
            }
        };
        Ok(fingerprint::of(&page))
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
    let place = context.streams.clone().try_acquire_owned();
    let place = place.map_err(|_| ApiError::Overloaded(TRY_AGAIN))?;
    // Heard of from here on, so that nothing is missed after the first look.
    let news = context.changes.watch(page.subject());
    let seen = parameter("seen");
    // Whoever may not see it, or has nothing to look at, is told so by the status.
    page.look(&context, &request).await?;
    let watch = Watch {
        closing: Box::pin(shell.closing()),
        beat: beat(),
        look: every(LOOK),
        context,
        request,
        page,
        news,
        seen,
        next_look: Instant::now(),
        stage: Stage::Greeting,
        _place: place,
    };
    let events = stream::unfold(watch, async |mut watch| {
        let event = watch.next().await?;
        Some((Ok::<_, Infallible>(event), watch))
    });
    Ok(event_stream().streaming(events))
}

/// An open page.
struct Watch {
    context: web::Data<DashboardContext>,
    request: HttpRequest,
    page: LivePage,
    news: watch::Receiver<()>,
    /// What it shows.
    seen: String,
    next_look: Instant,
    stage: Stage,
    beat: Interval,
    look: Interval,
    /// The listener comes to its end.
    closing: LocalBoxFuture<'static, ()>,
    _place: OwnedSemaphorePermit,
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
    /// The next event, when there is one. Nothing at the end.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            match self.stage {
                Stage::Greeting => {
                    self.stage = Stage::Comparing;
                    return Some(Bytes::from_static(COME_BACK));
                }
                Stage::Comparing => self.stage = Stage::Watching,
                Stage::Over => return None,
                Stage::Watching => tokio::select! {
                    () = &mut self.closing => return None,
                    _ = self.beat.tick() => return Some(Bytes::from_static(b": still here\n\n")),
                    _ = self.look.tick() => {}
                    news = self.news.changed() => {
                        news.ok()?;
                        tokio::select! {
                            () = &mut self.closing => return None,
                            () = sleep_until(self.next_look) => {}
                        }
                        self.news.mark_unchanged();
                    }
                },
            }
            self.next_look = Instant::now() + GAP;
            match self.page.look(&self.context, &self.request).await {
                Ok(now) if now == self.seen => {}
                Ok(now) => {
                    let event = format!("event: change\ndata: {now}\n\n");
                    self.seen = now;
                    return Some(event.into());
                }
                // What cannot be looked at now can be later.
                Err(error) if error.problem().status.is_server_error() => {}
                Err(_) => {
                    self.stage = Stage::Over;
                    return Some(Bytes::from_static(b"event: ended\ndata:\n\n"));
                }
            }
        }
    }
}
