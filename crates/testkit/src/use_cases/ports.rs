//! One handle per port, and the use cases over them.

use super::{InMemory, Settings};
use companion_domain::{
    port::{
        BlockList, BotTelemetry, ChangeFeed, Clock, Entropy, FeedbackStore, Follower, GrantStore,
        GuildDirectory, Health, IdentityProvider, Scheduler, SessionStore, SignIns, SpentCodes,
        StaffDirectory, SubscriptionStore, TeamRoster, Vault, WorldStore,
    },
    usecase::{
        Authenticate, ExplainGuild, Feed, Following, ForgetUser, GiveBack, ListGuilds, LookUp,
        ManageSessions, PickFeedback, RefreshList, ReportStatus, ResealGrants, ShowTeam, SignIn,
    },
};
use std::sync::Arc;

/// One handle per port. Any of them can be exchanged before the use cases are made.
#[derive(Clone)]
pub struct Ports {
    /// Blocked users.
    pub blocked: Arc<dyn BlockList>,
    /// The history of changes.
    pub changes: Arc<dyn ChangeFeed>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Chance.
    pub entropy: Arc<dyn Entropy>,
    /// Feedback.
    pub feedback: Arc<dyn FeedbackStore>,
    /// Whoever keeps copies.
    pub followers: Vec<Arc<dyn Follower>>,
    /// Platform grants.
    pub grants: Arc<dyn GrantStore>,
    /// Guilds and members.
    pub guilds: Arc<dyn GuildDirectory>,
    /// How the store is.
    pub health: Arc<dyn Health>,
    /// The platform.
    pub identity: Arc<dyn IdentityProvider>,
    /// Work beside the requests.
    pub scheduler: Arc<dyn Scheduler>,
    /// Sessions.
    pub sessions: Arc<dyn SessionStore>,
    /// Sessions together with their grants. Whoever exchanges one of the two exchanges this with it, for
    /// [`SeparateSignIns`](companion_domain::port::SeparateSignIns) at least.
    pub sign_ins: Arc<dyn SignIns>,
    /// Codes that were used.
    pub spent_codes: Arc<dyn SpentCodes>,
    /// Grants by name.
    pub staff: Arc<dyn StaffDirectory>,
    /// Subscriptions.
    pub subscriptions: Arc<dyn SubscriptionStore>,
    /// The team.
    pub team: Arc<dyn TeamRoster>,
    /// Clusters.
    pub telemetry: Arc<dyn BotTelemetry>,
    /// Seals and opens.
    pub vault: Arc<dyn Vault>,
    /// All at once.
    pub world: Arc<dyn WorldStore>,
}

/// Every use case.
#[derive(Clone)]
pub struct UseCases {
    /// Signs users in.
    pub sign_in: Arc<SignIn>,
    /// Recognises sessions.
    pub authenticate: Arc<Authenticate>,
    /// Lists users' guilds.
    pub list_guilds: Arc<ListGuilds>,
    /// Explains what is listed, and what is not.
    pub explain: Arc<ExplainGuild>,
    /// Looks up what was fed.
    pub look_up: Arc<LookUp>,
    /// Lists and ends sessions.
    pub sessions: Arc<ManageSessions>,
    /// Forgets users.
    pub forget: Arc<ForgetUser>,
    /// Gives grants back to the platform.
    pub give_back: Arc<GiveBack>,
    /// Seals grants again.
    pub reseal: Arc<ResealGrants>,
    /// Takes in what the bot reports.
    pub feed: Arc<Feed>,
    /// Leads the followers.
    pub following: Arc<Following>,
    /// Picks feedback.
    pub feedback: Arc<PickFeedback>,
    /// Shows the team.
    pub team: Arc<ShowTeam>,
    /// Reports the status.
    pub status: Arc<ReportStatus>,
}

impl UseCases {
    /// The use cases as the HTTP API takes them.
    #[must_use]
    pub fn for_http(&self) -> companion_http::UseCases {
        companion_http::UseCases {
            sign_in: self.sign_in.clone(),
            authenticate: self.authenticate.clone(),
            list_guilds: self.list_guilds.clone(),
            pick_feedback: self.feedback.clone(),
            show_team: self.team.clone(),
            report_status: self.status.clone(),
            sessions: self.sessions.clone(),
            forget: self.forget.clone(),
            feed: self.feed.clone(),
            look_up: self.look_up.clone(),
            explain: self.explain.clone(),
        }
    }
}

impl Ports {
    /// Memory adapters, a fixed clock and seeded entropy. [`InMemory`] also gives a hold on them.
    #[must_use]
    pub fn in_memory() -> Self {
        InMemory::new().ports
    }

    /// The use cases over these ports.
    #[must_use]
    pub fn use_cases(&self, settings: Settings) -> UseCases {
        let following = Arc::new(Following::new(self.changes.clone(), self.followers.clone()));
        let give_back = Arc::new(self.give_back());
        UseCases {
            sign_in: Arc::new(self.sign_in(&settings, &give_back)),
            authenticate: Arc::new(Authenticate::new(
                self.sessions.clone(),
                give_back.clone(),
                following.clone(),
                self.clock.clone(),
                settings.tokens.clone(),
                settings.limits,
            )),
            list_guilds: Arc::new(self.list_guilds(&settings)),
            explain: Arc::new(self.explain()),
            sessions: Arc::new(self.manage_sessions(&settings, &following, &give_back)),
            look_up: Arc::new(self.look_up()),
            forget: Arc::new(ForgetUser {
                grants: self.grants.clone(),
                vault: self.vault.clone(),
                give_back: give_back.clone(),
                world: self.world.clone(),
                following: following.clone(),
            }),
            give_back,
            reseal: Arc::new(ResealGrants::new(self.grants.clone(), self.vault.clone(), self.clock.clone())),
            feed: Arc::new(self.feed(&following)),
            following,
            feedback: Arc::new(PickFeedback {
                feedback: self.feedback.clone(),
                entropy: self.entropy.clone(),
            }),
            team: Arc::new(ShowTeam { roster: self.team.clone(), categories: settings.categories }),
            status: Arc::new(ReportStatus {
                telemetry: self.telemetry.clone(),
                clock: self.clock.clone(),
                silent_after: settings.silent_after,
            }),
        }
    }

    fn sign_in(&self, settings: &Settings, give_back: &Arc<GiveBack>) -> SignIn {
        SignIn {
            identity: self.identity.clone(),
            codes: self.spent_codes.clone(),
            sign_ins: self.sign_ins.clone(),
            grants: self.grants.clone(),
            blocked: self.blocked.clone(),
            give_back: give_back.clone(),
            vault: self.vault.clone(),
            clock: self.clock.clone(),
            entropy: self.entropy.clone(),
            tokens: settings.tokens.clone(),
            limits: settings.limits,
            keep_tokens: settings.keep_tokens,
        }
    }

    fn list_guilds(&self, settings: &Settings) -> ListGuilds {
        let refresh = RefreshList::new(
            self.identity.clone(),
            self.grants.clone(),
            self.sign_ins.clone(),
            self.vault.clone(),
            self.clock.clone(),
            self.scheduler.clone(),
        );
        ListGuilds {
            grants: self.grants.clone(),
            sign_ins: self.sign_ins.clone(),
            refresh: Arc::new(refresh),
            guilds: self.guilds.clone(),
            subscriptions: self.subscriptions.clone(),
            staff: self.staff.clone(),
            blocked: self.blocked.clone(),
            clock: self.clock.clone(),
            freshness: settings.freshness,
        }
    }

    fn explain(&self) -> ExplainGuild {
        ExplainGuild {
            grants: self.grants.clone(),
            guilds: self.guilds.clone(),
            subscriptions: self.subscriptions.clone(),
            staff: self.staff.clone(),
            blocked: self.blocked.clone(),
            clock: self.clock.clone(),
        }
    }

    fn look_up(&self) -> LookUp {
        LookUp {
            guilds: self.guilds.clone(),
            subscriptions: self.subscriptions.clone(),
            staff: self.staff.clone(),
            blocked: self.blocked.clone(),
            feedback: self.feedback.clone(),
        }
    }

    fn give_back(&self) -> GiveBack {
        GiveBack::new(
            self.grants.clone(),
            self.sessions.clone(),
            self.identity.clone(),
            self.vault.clone(),
            self.clock.clone(),
            self.scheduler.clone(),
        )
    }

    fn manage_sessions(
        &self,
        settings: &Settings,
        following: &Arc<Following>,
        give_back: &Arc<GiveBack>,
    ) -> ManageSessions {
        ManageSessions {
            sessions: self.sessions.clone(),
            give_back: give_back.clone(),
            clock: self.clock.clone(),
            tokens: settings.tokens.clone(),
            limits: settings.limits,
            following: following.clone(),
        }
    }

    fn feed(&self, following: &Arc<Following>) -> Feed {
        Feed {
            guilds: self.guilds.clone(),
            subscriptions: self.subscriptions.clone(),
            staff: self.staff.clone(),
            blocked: self.blocked.clone(),
            feedback: self.feedback.clone(),
            team: self.team.clone(),
            telemetry: self.telemetry.clone(),
            world: self.world.clone(),
            following: following.clone(),
        }
    }
}
