//! What a live page shows by now, rendered once for all streams that would show the same.

use crate::{asset, change_signal::Subject};
use actix_web::{http::StatusCode, web::Bytes};
use companion_domain::{model::GuildId, session::TokenHash};
use companion_http::ApiError;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};
use tokio::{
    sync::{self, watch},
    time::{Instant, sleep_until},
};

/// How long at least is between two looks at the same view, however much changes.
pub(crate) const GAP: Duration = Duration::from_millis(250);
/// Once there are so many views, those are removed that no stream looks at.
const MANY: usize = 2000;

/// A page that can be live.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum LivePage {
    Home,
    Status,
    Guilds,
    Guild(GuildId),
}

impl LivePage {
    /// The page at this path.
    pub(crate) fn at(path: &str) -> Option<Self> {
        match path {
            "/" => Some(Self::Home),
            "/status" => Some(Self::Status),
            "/guilds" => Some(Self::Guilds),
            _ => path.strip_prefix("/guilds/")?.parse().ok().map(Self::Guild),
        }
    }

    /// What its content depends on.
    pub(crate) const fn subject(self) -> Subject {
        match self {
            Self::Home | Self::Status => Subject::Bot,
            Self::Guilds | Self::Guild(_) => Subject::Guilds,
        }
    }
}

/// A page, and the session that it is shown to; `None` for pages that look the same to everyone.
pub(crate) type ViewKey = (LivePage, Option<TokenHash>);

/// The views that streams look at.
#[derive(Debug, Default)]
pub(crate) struct Views(Mutex<HashMap<ViewKey, Weak<View>>>);

impl Views {
    /// Returns the view of this key, which all streams of that key share.
    pub(crate) fn of(&self, key: ViewKey) -> Arc<View> {
        let mut views = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(view) = views.get(&key).and_then(Weak::upgrade) {
            return view;
        }
        if views.len() >= MANY {
            views.retain(|_, view| view.strong_count() > 0);
        }
        let view = Arc::new(View::default());
        views.insert(key, Arc::downgrade(&view));
        view
    }
}

/// A page as one session, or everyone, sees it. The lock is held while it is rendered, so that streams which look at the same
/// time wait for one look instead of taking one each.
#[derive(Debug, Default)]
pub(crate) struct View(sync::Mutex<Option<Look>>);

#[derive(Debug, Clone)]
struct Look {
    begun: Instant,
    /// The last change that had been signalled when it began.
    change: u64,
    shown: Result<Shown, StatusCode>,
}

/// What a page shows.
#[derive(Debug, Clone)]
pub(crate) struct Shown {
    pub(crate) fingerprint: String,
    /// The event that tells a page of it.
    pub(crate) event: Bytes,
}

impl Shown {
    fn of(page: &str) -> Self {
        let fingerprint = asset::of(page);
        Self { event: format!("event: change\ndata: {fingerprint}\n\n").into(), fingerprint }
    }
}

impl View {
    /// Returns what the page shows after change number `since`, at most `max_age` ago. It is rendered only if no look of
    /// another stream is as recent, and not before [`GAP`] has passed since the last one.
    ///
    /// # Errors
    ///
    /// The status of the error that rendering ended with.
    pub(crate) async fn look(
        &self,
        changes: &watch::Receiver<u64>,
        since: u64,
        max_age: Duration,
        render: impl AsyncFnOnce() -> Result<String, ApiError>,
    ) -> Result<Shown, StatusCode> {
        let mut last = loop {
            let last = self.0.lock().await;
            let Some(look) = &*last else { break last };
            if look.change >= since && look.begun.elapsed() <= max_age {
                return look.shown.clone();
            }
            let due = look.begun + GAP;
            if due <= Instant::now() {
                break last;
            }
            drop(last);
            sleep_until(due).await;
        };
        let (begun, change) = (Instant::now(), *changes.borrow());
        let shown = render().await.map(|page| Shown::of(&page)).map_err(|error| error.problem().status);
        *last = Some(Look { begun, change, shown: shown.clone() });
        shown
    }
}
