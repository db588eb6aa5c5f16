//! Asking for guilds, many at the same moment.

use super::nodes::Nodes;
use actix_web::ResponseError as _;
use companion_domain::usecase::{AuthenticateError, GuildListing, ListGuildsError};
use companion_http::ApiError;
use std::{collections::BTreeSet, time::Duration};
use tokio::task::JoinSet;

/// A look at the guilds of a user, by their place in the list of users.
#[derive(Debug, Clone)]
pub(super) struct Visit {
    pub(super) person: usize,
    pub(super) node: usize,
    pub(super) token: String,
    /// Whether the token's session was over already.
    pub(super) over: bool,
}

/// What a visitor is answered. The numbers are those of the public API.
///
/// They stand in the order in which they are judged: what ends sessions explains other answers of the same moment, and
/// what is shown to one does not yet speak against another who was refused.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Answer {
    /// 401: the platform ended the grant, and with it the session.
    SignedOut,
    /// 401: there is no such session.
    Unknown,
    /// 503.
    Limited,
    /// 200.
    Shown { guilds: BTreeSet<u64>, age: Duration },
    /// Something else, which is wrong whatever it is.
    Other(String),
}

/// Makes all visits at once.
pub(super) async fn visit_all(nodes: &Nodes, visits: Vec<Visit>) -> Vec<(Visit, Answer)> {
    let mut asking = JoinSet::new();
    for visit in visits {
        let node = nodes.node(visit.node).clone();
        asking.spawn(async move {
            let answer = match node.use_cases.authenticate.authenticate(&visit.token).await {
                Ok(session) => heard(node.use_cases.list_guilds.list(session.user).await),
                Err(AuthenticateError::TokenRefused | AuthenticateError::Over(_)) => Answer::Unknown,
                Err(AuthenticateError::Store(error)) => Answer::Other(error.to_string()),
            };
            (visit, answer)
        });
    }
    let mut answered = asking.join_all().await;
    answered.sort_by(|(_, one), (_, other)| one.cmp(other));
    answered
}

fn heard(listed: Result<GuildListing, ListGuildsError>) -> Answer {
    let error = match listed {
        Ok(listing) => {
            let guilds = listing.guilds().iter().map(|listed| listed.guild.id.get()).collect();
            return Answer::Shown { guilds, age: listing.age };
        }
        Err(error @ ListGuildsError::Store(_)) => return Answer::Other(error.to_string()),
        Err(error) => error,
    };
    let said = error.to_string();
    match ApiError::from(error).status_code().as_u16() {
        401 => Answer::SignedOut,
        503 => Answer::Limited,
        status => Answer::Other(format!("{status}: {said}")),
    }
}
