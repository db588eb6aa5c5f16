//! Construction of all use cases over one set of ports.

use super::{
    Authenticate, ChangeDispatcher, DispatchedRecords, ExplainGuild, Feed, ForgetUser, Freshness,
    GuildSettings, ListGuilds, ManageSessions, PickFeedback, RefreshList, ReportStatus, ResealGrants,
    RevokeUnusedGrants, ShowTeam, ShowUser, SignIn, WatchBot, WatchChanges,
};
use crate::{
    change::Kind,
    model::{Name, Span, Timestamp},
    port::{GrantStore, Listings, Ports, Records, SessionStore},
    session::{SessionLimits, TokenRing},
};
use std::{collections::BTreeSet, sync::Arc};

/// All use cases.
#[derive(Clone)]
pub struct UseCases {
    /// Signs users in.
    pub sign_in: Arc<SignIn>,
    /// Authenticates session tokens.
    pub authenticate: Arc<Authenticate>,
    /// Lists users' guilds.
    pub list_guilds: Arc<ListGuilds>,
    /// Picks feedback.
    pub pick_feedback: Arc<PickFeedback>,
    /// Shows the team.
    pub show_team: Arc<ShowTeam>,
    /// Reports the status.
    pub report_status: Arc<ReportStatus>,
    /// Watches the bot.
    pub watch_bot: Arc<WatchBot>,
    /// Applies what the bot reports.
    pub feed: Arc<Feed>,
    /// Reads and changes settings.
    pub settings: Arc<GuildSettings>,
    /// Explains what a user is shown of a guild.
    pub explain: Arc<ExplainGuild>,
    /// Streams changes.
    pub watch_changes: Arc<WatchChanges>,
    /// Lists and ends sessions.
    pub sessions: Arc<ManageSessions>,
    /// Shows what is stored about users.
    pub show_user: Arc<ShowUser>,
    /// Forgets users.
    pub forget: Arc<ForgetUser>,
    /// Revokes unused grants at the platform.
    pub revoke_unused: Arc<RevokeUnusedGrants>,
    /// Seals grants again.
    pub reseal: Arc<ResealGrants>,
    /// Dispatches changes to caches and projections.
    pub dispatcher: Arc<ChangeDispatcher>,
    /// The kinds that are read from outside of the store, and therefore never cached.
    pub kept_elsewhere: BTreeSet<Kind>,
}

/// What the use cases share.
pub(super) struct Core {
    pub(super) ports: Ports,
    pub(super) settings: Settings,
    /// Dispatches changes to caches and projections.
    pub(super) dispatcher: Arc<ChangeDispatcher>,
    /// The records of the store. Their changes are dispatched before a write returns.
    pub(super) records: Arc<dyn Records>,
    /// The parts of listings, each from the port that has it.
    pub(super) listings: Arc<dyn Listings>,
    /// Revokes a user's grant at the platform after the last session.
    pub(super) revoke_unused: Arc<RevokeUnusedGrants>,
}

impl Core {
    pub(super) fn now(&self) -> Timestamp {
        self.ports.clock.now()
    }

    pub(super) fn sessions(&self) -> &dyn SessionStore {
        &*self.ports.stores.sessions
    }

    pub(super) fn grants(&self) -> &dyn GrantStore {
        &*self.ports.stores.grants
    }
}

impl UseCases {
    /// Creates all use cases.
    #[must_use]
    pub fn new(ports: &Ports, settings: Settings) -> Self {
        Self::with_dispatcher(ChangeDispatcher::of(ports), ports, settings)
    }

    /// Like [`new`](Self::new), but with a dispatcher that other subscribers, such as a cache, share.
    #[must_use]
    pub fn with_dispatcher(dispatcher: Arc<ChangeDispatcher>, ports: &Ports, settings: Settings) -> Self {
        let Ports { stores, vault, clock, entropy, .. } = ports.clone();
        let (records, listings) = (DispatchedRecords::by(dispatcher.clone(), &stores), stores.listings());
        let revoke_unused = Arc::new(RevokeUnusedGrants::new(ports));
        let core = Arc::new(Core {
            ports: ports.clone(),
            settings,
            dispatcher: dispatcher.clone(),
            records: records.clone(),
            listings: listings.clone(),
            revoke_unused: revoke_unused.clone(),
        });
        let list_guilds =
            Arc::new(ListGuilds { refresh: Arc::new(RefreshList::new(ports)), core: core.clone() });
        Self {
            settings: Arc::new(GuildSettings {
                store: stores.settings.clone(),
                list_guilds: list_guilds.clone(),
                core: core.clone(),
            }),
            sign_in: Arc::new(SignIn(core.clone())),
            authenticate: Arc::new(Authenticate(core.clone())),
            sessions: Arc::new(ManageSessions(core.clone())),
            list_guilds,
            pick_feedback: Arc::new(PickFeedback { feedback: stores.feedback.clone(), entropy }),
            show_team: Arc::new(ShowTeam(core.clone())),
            report_status: Arc::new(ReportStatus(core.clone())),
            watch_bot: Arc::new(WatchBot(core.clone())),
            feed: Arc::new(Feed { records: records.clone(), team: stores.team.clone() }),
            watch_changes: Arc::new(WatchChanges::new(stores.changes.clone(), dispatcher.clone())),
            explain: Arc::new(ExplainGuild { listings, records, clock: clock.clone() }),
            show_user: Arc::new(ShowUser(core.clone())),
            forget: Arc::new(ForgetUser(core)),
            reseal: Arc::new(ResealGrants::new(stores.grants.clone(), vault, clock)),
            revoke_unused,
            kept_elsewhere: stores.kept_elsewhere().clone(),
            dispatcher,
        }
    }
}

/// The settings of the use cases.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Signs session tokens.
    pub tokens: TokenRing,
    /// Limits of sessions.
    pub limits: SessionLimits,
    /// Whether platform tokens are stored.
    pub keep_tokens: bool,
    /// Maximum age of guild lists.
    pub freshness: Freshness,
    /// The team's categories that come first, in order.
    pub categories: Vec<Name>,
    /// How long a cluster may be silent and still count as live.
    pub silent_after: Span,
}
