//! Live pages: notifications of possible changes, limits of streams, and the content, rendered once for all streams that
//! show the same.

use crate::asset;
use actix_web::http::StatusCode;
use async_trait::async_trait;
use companion_domain::{
    change::Kind,
    model::{GuildId, UserId},
    port::{ChangeBatch, StoreError, Subscriber},
    session::TokenHash,
};
use companion_http::{ApiError, Client};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};
use tokio::{
    sync::{self, watch},
    time::{Instant, sleep_until},
};

/// What live pages depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    /// The status of the bot.
    Bot,
    /// Guilds, their permissions, and sessions.
    Guilds,
    /// Settings of guilds, names of their roles, and all that [`Subject::Guilds`] stands for.
    Settings,
}

impl Subject {
    /// Returns whether it depends on this kind.
    fn depends_on(self, kind: Kind) -> bool {
        let is_of_guilds = kind.is_listed() || matches!(kind, Kind::Session);
        match self {
            Self::Bot => matches!(kind, Kind::Cluster | Kind::Period | Kind::Notice),
            Self::Guilds => is_of_guilds,
            Self::Settings => {
                is_of_guilds || matches!(kind, Kind::Settings | Kind::Applied | Kind::Schema | Kind::Outline)
            }
        }
    }
}

/// Counts changes of each subject for live pages, from 1. It must be subscribed after the caches and projections that
/// pages read, so that they are current when a page is notified.
#[derive(Debug, Default)]
pub(crate) struct ChangeSignal {
    bot: watch::Sender<u64>,
    guilds: watch::Sender<u64>,
    settings: watch::Sender<u64>,
}

impl ChangeSignal {
    const fn sender(&self, subject: Subject) -> &watch::Sender<u64> {
        match subject {
            Subject::Bot => &self.bot,
            Subject::Guilds => &self.guilds,
            Subject::Settings => &self.settings,
        }
    }

    /// Subscribes to changes of a subject from now on.
    pub(crate) fn watch(&self, subject: Subject) -> watch::Receiver<u64> {
        self.sender(subject).subscribe()
    }
}

#[async_trait]
impl Subscriber for ChangeSignal {
    fn name(&self) -> &'static str {
        "live_pages"
    }

    async fn receive(&self, batch: &ChangeBatch) -> Result<(), StoreError> {
        for subject in [Subject::Bot, Subject::Guilds, Subject::Settings] {
            let concerned = match batch {
                ChangeBatch::Everything => true,
                ChangeBatch::Changes(changes) => {
                    changes.iter().any(|change| subject.depends_on(change.subject.kind()))
                }
            };
            if concerned {
                self.sender(subject).send_modify(|change| *change += 1);
            }
        }
        Ok(())
    }
}

/// `Retry-After` of refused streams.
const RETRY_AFTER: Duration = Duration::from_secs(30);

/// What a stream is counted against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum LimitKey {
    /// All streams of the listener.
    Total,
    /// The streams of one client address.
    Address(Client),
    /// The streams of one user over all sessions, because another session costs only a sign-in.
    User(UserId),
}

impl LimitKey {
    /// Returns the limit. An address may be shared by a whole office. A user needs one stream per window: hidden tabs
    /// have none.
    const fn limit(self) -> usize {
        match self {
            Self::Total => 1000,
            Self::Address(_) => 100,
            Self::User(_) => 16,
        }
    }
}

/// The open streams by key: each holds a clone of the value.
#[derive(Debug, Default)]
pub(crate) struct StreamLimiter(Mutex<HashMap<LimitKey, StreamPermit>>);

/// Counts a stream until it is dropped.
pub(crate) type StreamPermit = Arc<()>;

impl StreamLimiter {
    /// Counts a stream against this key. Returns [`ApiError::Overloaded`] at the limit.
    pub(crate) fn acquire(&self, key: LimitKey) -> Result<StreamPermit, ApiError> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|_, streams| Arc::strong_count(streams) > 1);
        let streams = open.entry(key).or_default();
        // One of them is the value itself.
        if Arc::strong_count(streams) > key.limit() {
            return Err(ApiError::Overloaded(RETRY_AFTER));
        }
        Ok(Arc::clone(streams))
    }
}

/// Minimum time between two renderings of a view, however many changes occur.
pub(crate) const MIN_INTERVAL: Duration = Duration::from_millis(250);
/// Number of views above which those without a stream are removed.
const CLEANUP_ABOVE: usize = 2000;

/// A page that can be live.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum LivePage {
    Home,
    Status,
    Guilds,
    /// The settings, or the permissions before settings are published.
    Guild(GuildId),
    Permissions(GuildId),
    History(GuildId),
}

impl LivePage {
    /// Returns the page at this path.
    pub(crate) fn at(path: &str) -> Option<Self> {
        match path {
            "/" => Some(Self::Home),
            "/status" => Some(Self::Status),
            "/guilds" => Some(Self::Guilds),
            _ => {
                let path = path.strip_prefix("/guilds/")?;
                let (guild, page): (_, fn(GuildId) -> Self) = match path.split_once('/') {
                    None => (path, Self::Guild),
                    Some((guild, "permissions")) => (guild, Self::Permissions),
                    Some((guild, "history")) => (guild, Self::History),
                    Some(_) => return None,
                };
                guild.parse().ok().map(page)
            }
        }
    }

    /// Returns what its content depends on.
    pub(crate) const fn subject(self) -> Subject {
        match self {
            Self::Home | Self::Status => Subject::Bot,
            Self::Guilds => Subject::Guilds,
            Self::Guild(_) | Self::Permissions(_) | Self::History(_) => Subject::Settings,
        }
    }
}

/// A page and the session it is rendered for; `None` for public pages.
pub(crate) type ViewKey = (LivePage, Option<TokenHash>);

/// The views in use.
#[derive(Debug, Default)]
pub(crate) struct Views(Mutex<HashMap<ViewKey, Weak<View>>>);

impl Views {
    /// Returns the view of this key, which all streams of that key share.
    pub(crate) fn of(&self, key: ViewKey) -> Arc<View> {
        let mut views = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(view) = views.get(&key).and_then(Weak::upgrade) {
            return view;
        }
        if views.len() >= CLEANUP_ABOVE {
            views.retain(|_, view| view.strong_count() > 0);
        }
        let view = Arc::new(View::default());
        views.insert(key, Arc::downgrade(&view));
        view
    }
}

/// A page as one session, or everyone, sees it. The lock is held while it is rendered, so that concurrent streams share
/// one rendering.
#[derive(Debug, Default)]
pub(crate) struct View(sync::Mutex<Option<Look>>);

#[derive(Debug, Clone)]
struct Look {
    begun: Instant,
    /// The last change signalled before it began.
    change: u64,
    /// The fingerprint of what the page shows.
    shown: Result<String, StatusCode>,
}

impl View {
    /// Returns the fingerprint of what the page shows after change number `since`, at most `max_age` ago. Renders it only
    /// if no other stream has done so recently enough, and not before [`MIN_INTERVAL`] has passed since the last rendering.
    ///
    /// # Errors
    ///
    /// Returns the status of the error that rendering failed with.
    pub(crate) async fn look(
        &self,
        changes: &watch::Receiver<u64>,
        since: u64,
        max_age: Duration,
        render: impl AsyncFnOnce() -> Result<String, ApiError>,
    ) -> Result<String, StatusCode> {
        let mut last = loop {
            let last = self.0.lock().await;
            let Some(look) = &*last else { break last };
            if look.change >= since && look.begun.elapsed() <= max_age {
                return look.shown.clone();
            }
            let due = look.begun + MIN_INTERVAL;
            if due <= Instant::now() {
                break last;
            }
            drop(last);
            sleep_until(due).await;
        };
        let (begun, change) = (Instant::now(), *changes.borrow());
        let page = render().await.map_err(|error| error.problem().status);
        let shown = page.map(|page| asset::live_fingerprint(&page));
        *last = Some(Look { begun, change, shown: shown.clone() });
        shown
    }
}
