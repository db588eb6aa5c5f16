//! The use cases, each over the ports it needs.

use super::{Adapters, StoragePorts};
use crate::{
    configuration::{Configuration, Keyring},
    vault::SealingVault,
};
use companion_domain::{
    port::{Follower, Vault},
    session::{SessionLimits, TokenRing},
    usecase::{
        Authenticate, Feed, Following, ForgetUser, Freshness, ListGuilds, ManageSessions, PickFeedback,
        ReportStatus, ShowTeam, SignIn,
    },
};
use companion_http::{Projections, UseCases};
use std::sync::Arc;

pub(super) fn compose(
    configuration: &Configuration,
    adapters: &Adapters,
    keys: &Keyring,
) -> (UseCases, Arc<Projections>, Arc<Following>) {
    let Adapters { storage, identity, clock, entropy } = adapters.clone();
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

    let vault: Arc<dyn Vault> = Arc::new(SealingVault::new(&keys.first, &keys.others, entropy.clone()));
    let tokens = TokenRing::new(&keys.first, &keys.others);
    let limits = session_limits(configuration);
    let sessions = Arc::new(ManageSessions {
        sessions: storage.sessions.clone(),
        grants: storage.grants.clone(),
        identity: identity.clone(),
        vault: vault.clone(),
        clock: clock.clone(),
        tokens: tokens.clone(),
        limits,
        following: following.clone(),
    });
    let use_cases = UseCases {
        authenticate: Arc::new(Authenticate::new(
            storage.sessions.clone(),
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
        forget: Arc::new(ForgetUser {
            sessions: sessions.clone(),
            world: storage.world.clone(),
            following: following.clone(),
        }),
        sessions,
        feed: Arc::new(feed(&storage, &following)),
        sign_in: Arc::new(SignIn {
            identity: identity.clone(),
            codes: storage.codes,
            sessions: storage.sessions.clone(),
            grants: storage.grants.clone(),
            blocked: storage.blocked.clone(),
            vault: vault.clone(),
            clock: clock.clone(),
            entropy,
            tokens,
            limits,
            keep_tokens: configuration.identity.keep_tokens,
        }),
        list_guilds: Arc::new(ListGuilds {
            identity,
            grants: storage.grants,
            sessions: storage.sessions,
            vault,
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
    (use_cases, projections, following)
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
