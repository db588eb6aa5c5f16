//! The use cases, each over the ports it needs.

use super::{Adapters, StoragePorts};
use crate::{
    configuration::{Configuration, Keyring},
    vault::SealingVault,
};
use companion_domain::{
    port::{Clock, Entropy, Follower, Vault},
    session::{SessionLimits, TokenRing},
    usecase::{
        Authenticate, ExplainGuild, Feed, Following, ForgetUser, Freshness, GiveBack, ListGuilds, LookUp,
        ManageSessions, PickFeedback, RefreshList, ReportStatus, ShowTeam, SignIn,
    },
};
use companion_http::{Projections, UseCases};
use std::sync::Arc;

/// The use cases, and what they have in common.
pub(super) struct UseCaseSet {
    pub(super) use_cases: UseCases,
    pub(super) projections: Arc<Projections>,
    pub(super) following: Arc<Following>,
    pub(super) give_back: Arc<GiveBack>,
}

pub(super) fn compose(configuration: &Configuration, adapters: &Adapters, keys: &Keyring) -> UseCaseSet {
    let Adapters { storage, identity, clock, entropy, scheduler, .. } = adapters.clone();
    let show_team = Arc::new(ShowTeam {
        roster: storage.team.clone(),
        categories: configuration.team.categories.clone(),
    });
    let report_status = Arc::new(ReportStatus {
        telemetry: storage.telemetry.clone(),
        clock: clock.clone(),
        silent_after: configuration.bot.silent_after,
    });
    let projections = Projections::new(show_team.clone(), report_status.clone());
    let followers: Vec<Arc<dyn Follower>> = vec![projections.clone()];
    let following = Arc::new(Following::new(storage.changes.clone(), followers));

    let vault = vault(keys, &entropy);
    let tokens = TokenRing::new(&keys.first, &keys.others);
    let limits = session_limits(configuration);
    let give_back = Arc::new(GiveBack::new(
        storage.grants.clone(),
        storage.sessions.clone(),
        identity.clone(),
        vault.clone(),
        clock.clone(),
        scheduler.clone(),
    ));
    let refresh = Arc::new(RefreshList::new(
        identity.clone(),
        storage.grants.clone(),
        storage.sign_ins.clone(),
        vault.clone(),
        clock.clone(),
        scheduler,
    ));
    let use_cases = UseCases {
        authenticate: Arc::new(Authenticate::new(
            storage.sessions.clone(),
            give_back.clone(),
            following.clone(),
            clock.clone(),
            tokens.clone(),
            limits,
        )),
        pick_feedback: Arc::new(PickFeedback {
            feedback: storage.feedback.clone(),
            entropy: entropy.clone(),
        }),
        show_team,
        report_status,
        sessions: Arc::new(ManageSessions {
            sessions: storage.sessions.clone(),
            give_back: give_back.clone(),
            clock: clock.clone(),
            tokens: tokens.clone(),
            limits,
            following: following.clone(),
        }),
        forget: Arc::new(ForgetUser {
            grants: storage.grants.clone(),
            vault: vault.clone(),
            give_back: give_back.clone(),
            world: storage.world.clone(),
            following: following.clone(),
        }),
        feed: Arc::new(feed(&storage, &following)),
        look_up: Arc::new(look_up(&storage)),
        explain: Arc::new(explain(&storage, &clock)),
        sign_in: Arc::new(SignIn {
            identity,
            codes: storage.codes,
            sign_ins: storage.sign_ins.clone(),
            grants: storage.grants.clone(),
            blocked: storage.blocked.clone(),
            give_back: give_back.clone(),
            vault,
            clock: clock.clone(),
            entropy,
            tokens,
            limits,
            keep_tokens: configuration.identity.keep_tokens,
        }),
        list_guilds: Arc::new(ListGuilds {
            grants: storage.grants,
            sign_ins: storage.sign_ins,
            refresh,
            guilds: storage.guilds,
            subscriptions: storage.subscriptions,
            staff: storage.staff,
            blocked: storage.blocked,
            clock,
            freshness: Freshness {
                refresh_after: configuration.guilds.refresh_after,
                stale_for: configuration.guilds.stale_for,
            },
        }),
    };
    UseCaseSet { use_cases, projections, following, give_back }
}

/// Seals with the first key of the ring, opens with all of them.
pub(crate) fn vault(keys: &Keyring, entropy: &Arc<dyn Entropy>) -> Arc<dyn Vault> {
    Arc::new(SealingVault::new(&keys.first, &keys.others, Arc::clone(entropy)))
}

const fn session_limits(configuration: &Configuration) -> SessionLimits {
    let sessions = &configuration.sessions;
    SessionLimits { lifetime: sessions.lifetime, idle: sessions.idle, per_user: sessions.per_user }
}

fn feed(storage: &StoragePorts, following: &Arc<Following>) -> Feed {
    Feed {
        guilds: storage.guilds.clone(),
        subscriptions: storage.subscriptions.clone(),
        staff: storage.staff.clone(),
        blocked: storage.blocked.clone(),
        feedback: storage.feedback.clone(),
        team: storage.team.clone(),
        telemetry: storage.telemetry.clone(),
        world: storage.world.clone(),
        following: following.clone(),
    }
}

fn look_up(storage: &StoragePorts) -> LookUp {
    LookUp {
        guilds: storage.guilds.clone(),
        subscriptions: storage.subscriptions.clone(),
        staff: storage.staff.clone(),
        blocked: storage.blocked.clone(),
        feedback: storage.feedback.clone(),
    }
}

fn explain(storage: &StoragePorts, clock: &Arc<dyn Clock>) -> ExplainGuild {
    ExplainGuild {
        grants: storage.grants.clone(),
        guilds: storage.guilds.clone(),
        subscriptions: storage.subscriptions.clone(),
        staff: storage.staff.clone(),
        blocked: storage.blocked.clone(),
        clock: clock.clone(),
    }
}
