//! The platform's troubles.

use super::{
    agenda::{Agenda, Event},
    chance::Chance,
    nodes::Nodes,
};
use companion_dev_identity::{ErrorBody, Fault, Route};
use companion_domain::model::Timestamp;
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);
/// How long the platform says to wait when it limits us, in seconds. Whoever asks again after that is told again.
const RETRY_AFTER: f64 = 60.0;
const API: [Route; 4] = [Route::Token, Route::Revoke, Route::User, Route::Guilds];

/// A way in which the platform is not well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Trouble {
    /// Nobody listens.
    Refusing,
    /// Every answer is an error.
    Failing,
    /// Lists are limited, for each user alone.
    LimitingLists,
    /// Tokens are limited, for all of us.
    LimitingTokens,
    /// Everything is limited.
    LimitingEverything,
}

impl Trouble {
    /// In the order in which they come.
    const ALL: [Self; 5] =
        [Self::Refusing, Self::LimitingLists, Self::Failing, Self::LimitingEverything, Self::LimitingTokens];

    pub(super) const fn length(self) -> Duration {
        match self {
            Self::Refusing | Self::Failing => MINUTE.saturating_mul(60),
            Self::LimitingLists | Self::LimitingTokens => MINUTE.saturating_mul(20),
            Self::LimitingEverything => MINUTE.saturating_mul(10),
        }
    }

    /// A trouble every few hours, until the end.
    pub(super) fn plan(agenda: &mut Agenda, chance: &Chance, from: Timestamp, until: Timestamp) {
        let mut at = from.after(chance.time(3600..2 * 3600));
        for trouble in Self::ALL.into_iter().cycle() {
            let end = at.after(trouble.length());
            if end >= until {
                return;
            }
            agenda.add(at, Event::TroubleBegins(trouble));
            agenda.add(end, Event::TroubleEnds);
            at = end.after(chance.time(2 * 3600..5 * 3600));
        }
    }

    pub(super) async fn begin(self, nodes: &mut Nodes) {
        let limited = |global| Fault::Limited { retry_after: RETRY_AFTER, global };
        let control = nodes.control.clone();
        match self {
            Self::Refusing => nodes.platform.refuse_connections().await,
            Self::Failing => {
                for route in API {
                    control.fail(route, Fault::Status { status: 503, body: ErrorBody::Html });
                }
            }
            Self::LimitingLists => control.fail(Route::Guilds, limited(false)),
            Self::LimitingTokens => control.fail(Route::Token, limited(false)),
            Self::LimitingEverything => API.iter().for_each(|route| control.fail(*route, limited(true))),
        }
    }

    pub(super) fn end(nodes: &mut Nodes) {
        nodes.control.clear_all();
        nodes.platform.accept_again().unwrap();
    }
}
