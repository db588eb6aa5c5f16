//! Construction of all use cases over one set of ports.

use super::{
    Authenticate, ChangeDispatcher, DispatchedRecords, ExplainGuild, Feed, ForgetUser, Freshness,
    GuildSettings, ListGuilds, ManageSessions, PickFeedback, RefreshList, ReportStatus, ResealGrants,
    RevokeUnusedGrants, ShowTeam, ShowUser, SignIn, WatchBot, WatchChanges,
};
use crate::{
    change::Kind,
    model::{Name, Span},
    port::Ports,
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

impl UseCases {
    /// Creates all use cases.
    #[must_use]
    pub fn new(ports: &Ports, settings: Settings) -> Self {
        Self::with_dispatcher(ChangeDispatcher::of(ports), ports, settings)
    }

    /// Like [`new`](Self::new), but with a dispatcher that other subscribers, such as a cache, share.
    #[must_use]
    pub fn with_dispatcher(dispatcher: Arc<ChangeDispatcher>, ports: &Ports, settings: Settings) -> Self {
        let Ports { stores, identity, vault, clock, entropy, .. } = ports.clone();
        let Settings { tokens, limits, keep_tokens, freshness, categories, silent_after } = settings;
        let (sign_ins, listings) = (stores.sign_ins.clone(), stores.listings());
        let records = DispatchedRecords::by(dispatcher.clone(), &stores);
        let revoke_unused = Arc::new(RevokeUnusedGrants::new(ports));
        let list_guilds = Arc::new(ListGuilds {
            listings: listings.clone(),
            grants: stores.grants.clone(),
            sign_ins: sign_ins.clone(),
            refresh: Arc::new(RefreshList::new(ports)),
            dispatcher: dispatcher.clone(),
            clock: clock.clone(),
            freshness,
        });
        Self {
            settings: Arc::new(GuildSettings {
                store: stores.settings.clone(),
                grants: stores.grants.clone(),
                records: stores.records.clone(),
                list_guilds: list_guilds.clone(),
                dispatcher: dispatcher.clone(),
                clock: clock.clone(),
            }),
            sign_in: Arc::new(SignIn {
                identity,
                codes: stores.spent_codes.clone(),
                sign_ins,
                grants: stores.grants.clone(),
                guilds: stores.guilds.clone(),
                blocked: stores.blocked.clone(),
                revoke_unused: revoke_unused.clone(),
                vault: vault.clone(),
                clock: clock.clone(),
                entropy: entropy.clone(),
                tokens: tokens.clone(),
                limits,
                keep_tokens,
            }),
            authenticate: Arc::new(Authenticate {
                sessions: stores.sessions.clone(),
                revoke_unused: revoke_unused.clone(),
                dispatcher: dispatcher.clone(),
                clock: clock.clone(),
                tokens: tokens.clone(),
                limits,
            }),
            list_guilds,
            pick_feedback: Arc::new(PickFeedback { feedback: stores.feedback.clone(), entropy }),
            show_team: Arc::new(ShowTeam { roster: stores.team.clone(), categories }),
            report_status: Arc::new(ReportStatus {
                telemetry: stores.telemetry.clone(),
                history: stores.status_history.clone(),
                guilds: stores.guilds.clone(),
                clock: clock.clone(),
                silent_after,
            }),
            watch_bot: Arc::new(WatchBot { records: records.clone(), clock: clock.clone(), silent_after }),
            feed: Arc::new(Feed { records: records.clone(), team: stores.team.clone() }),
            watch_changes: Arc::new(WatchChanges::new(stores.changes.clone(), dispatcher.clone())),
            explain: Arc::new(ExplainGuild {
                listings,
                records: stores.records.clone(),
                clock: clock.clone(),
            }),
            sessions: Arc::new(ManageSessions {
                sessions: stores.sessions.clone(),
                revoke_unused: revoke_unused.clone(),
                clock: clock.clone(),
                tokens,
                limits,
                dispatcher: dispatcher.clone(),
            }),
            show_user: Arc::new(ShowUser { records: records.clone() }),
            forget: Arc::new(ForgetUser {
                sessions: stores.sessions.clone(),
                grants: stores.grants.clone(),
                vault: vault.clone(),
                revoke_unused: revoke_unused.clone(),
                records,
            }),
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
