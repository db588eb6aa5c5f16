//! The gate: whether a call may go out, and what is learnt from what comes back.

use crate::{
    Limits, Route, Statistics,
    breaker::{Breaker, Ticket},
    budget::Budget,
    client::{Answer, Client, Request, counts_as_refused},
    failure::Trouble,
    limits::{LimitMemory, Said, TokenMark},
    route::PerRoute,
    settings::Settings,
    statistics::Counts,
};
use companion_domain::{
    model::Timestamp,
    port::{Clock, IdentityError, IdentityErrorKind},
};
use http::StatusCode;
use std::{
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::{Instant, timeout},
};

/// What callers are told where all places are taken.
const WITHOUT_A_PLACE: Duration = Duration::from_secs(1);

/// What someone wants to ask.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Errand {
    pub(crate) route: Route,
    /// In whose name; nobody's where it is ours.
    pub(crate) asker: Option<TokenMark>,
    /// Whether a code goes along, of which only so many may be bad.
    pub(crate) brings_code: bool,
}

pub(crate) struct Gate {
    clock: Arc<dyn Clock>,
    places: PerRoute<Semaphore>,
    patience: Duration,
    state: Mutex<State>,
}

struct State {
    limits: LimitMemory,
    breakers: PerRoute<Breaker>,
    refused: Budget,
    bad_codes: Budget,
    counts: PerRoute<Counts>,
}

impl Gate {
    pub(crate) fn new(settings: &Settings, clock: Arc<dyn Clock>) -> Self {
        let Limits { calls_at_once, breaker, refused, bad_codes, .. } = settings.limits;
        Self {
            clock,
            places: PerRoute::new(|| Semaphore::new(calls_at_once)),
            patience: settings.deadlines.place,
            state: Mutex::new(State {
                limits: LimitMemory::default(),
                breakers: PerRoute::new(|| Breaker::new(breaker)),
                refused: Budget::new(refused),
                bad_codes: Budget::new(bad_codes),
                counts: PerRoute::default(),
            }),
        }
    }

    /// Lets the errand through, or says how long to wait. Whoever is refused for another reason than the crowd hears
    /// it at once.
    pub(crate) async fn enter(&self, errand: Errand) -> Result<Pass<'_>, IdentityError> {
        let entered = self.try_enter(errand).await;
        if let Err(trouble) = entered {
            let error = IdentityError::from(trouble);
            self.state().counts.of_mut(errand.route).count(Err(error.kind));
            return Err(error);
        }
        entered.map_err(IdentityError::from)
    }

    async fn try_enter(&self, errand: Errand) -> Result<Pass<'_>, Trouble> {
        self.state().check(errand, self.clock.now())?;
        let place = timeout(self.patience, self.places.of(errand.route).acquire()).await;
        let Ok(Ok(place)) = place else {
            return Err(limited("all places are taken", WITHOUT_A_PLACE));
        };
        let ticket = self.state().admit(errand, self.clock.now())?;
        Ok(Pass { gate: self, errand, ticket, status: OnceLock::new(), settled: false, _place: place })
    }

    pub(crate) fn statistics(&self) -> Statistics {
        let now = self.clock.now();
        let mut state = self.state();
        Statistics {
            refused_answers: state.refused.spent(now),
            bad_codes: state.bad_codes.spent(now),
            routes: state.counts.with_breakers(|route| state.breakers.of(route).state()),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn limited(reason: &'static str, wait: Duration) -> Trouble {
    Trouble::Limited { reason, wait }
}

impl State {
    /// Whether the errand would be let through now.
    fn check(&mut self, errand: Errand, now: Timestamp) -> Result<(), Trouble> {
        let Errand { route, asker, brings_code } = errand;
        if let Some(wait) = self.limits.left(route, asker, now) {
            return Err(limited("the platform said to wait", wait));
        }
        if let Some(wait) = self.refused.empty_for(now) {
            return Err(limited("the platform has refused us too often", wait));
        }
        if let Some(wait) = self.bad_codes.empty_for(now).filter(|_| brings_code) {
            return Err(limited("too many codes were bad", wait));
        }
        if let Some(wait) = self.breakers.of(route).closed_for(now) {
            return Err(limited("the platform keeps failing", wait));
        }
        Ok(())
    }

    fn admit(&mut self, errand: Errand, now: Timestamp) -> Result<Ticket, Trouble> {
        self.check(errand, now)?;
        let ticket = self.breakers.of_mut(errand.route).admit(now);
        let ticket = ticket.map_err(|wait| limited("the platform keeps failing", wait))?;
        // Neither can fail: there was room a moment ago, and nobody else was here since.
        let _ = self.refused.reserve(now);
        if errand.brings_code {
            let _ = self.bad_codes.reserve(now);
        }
        self.counts.of_mut(errand.route).count_sent();
        Ok(ticket)
    }

    fn settle(&mut self, pass: &Pass<'_>, outcome: Option<Result<(), IdentityErrorKind>>, now: Timestamp) {
        let Errand { route, brings_code, .. } = pass.errand;
        let status = pass.status.get().copied();
        let refused = status.is_some_and(counts_as_refused);
        self.refused.settle(refused, now);
        if brings_code {
            // What became of a code that was given up is not known, so it counts.
            let bad =
                outcome.is_none() || (status.is_some_and(|status| status.is_client_error()) && !refused);
            self.bad_codes.settle(bad, now);
        }
        match outcome {
            None => self.breakers.of_mut(route).forget(pass.ticket),
            Some(outcome) => {
                self.breakers.of_mut(route).learn(pass.ticket, is_alive(outcome, status), now);
                self.counts.of_mut(route).count(outcome);
            }
        }
    }
}

/// Whether the platform is up, going by an outcome. One that refuses politely is; a ban page is not.
fn is_alive(outcome: Result<(), IdentityErrorKind>, status: Option<StatusCode>) -> bool {
    match outcome {
        Ok(())
        | Err(
            IdentityErrorKind::BadGrant | IdentityErrorKind::ScopeMissing | IdentityErrorKind::TokenRefused,
        ) => true,
        Err(IdentityErrorKind::Unreachable | IdentityErrorKind::TimedOut) => false,
        Err(IdentityErrorKind::Limited(_) | IdentityErrorKind::Failed) => {
            status.is_some_and(|status| status.is_client_error() && status != StatusCode::FORBIDDEN)
        }
    }
}

/// The right to make one call. Whoever drops it without settling has given the call up.
pub(crate) struct Pass<'a> {
    gate: &'a Gate,
    errand: Errand,
    ticket: Ticket,
    status: OnceLock<StatusCode>,
    settled: bool,
    _place: SemaphorePermit<'a>,
}

impl Pass<'_> {
    /// Makes the call. Comes back with answers that say something about what was asked: success, or a refusal.
    pub(crate) async fn ask(
        &self,
        client: &Client,
        request: Request,
        until: Instant,
    ) -> Result<Answer, IdentityError> {
        let answer = client.send(request, until).await?;
        let status = answer.status();
        let _ = self.status.set(status);
        let said = Said::read(status, answer.headers(), answer.body());
        if let Some(said) = said {
            let Errand { route, asker, .. } = self.errand;
            let now = self.gate.clock.now();
            self.gate.state().limits.remember(route, asker, said, now);
        }
        if let Some(said) = said.filter(|_| status == StatusCode::TOO_MANY_REQUESTS) {
            return Err(limited("the platform says to wait", said.wait).into());
        }
        let meant_for_us =
            status.is_success() || (status.is_client_error() && status != StatusCode::FORBIDDEN);
        if meant_for_us { Ok(answer) } else { Err(Trouble::Status(status.as_u16()).into()) }
    }

    /// Says what came of it, and hands that on.
    pub(crate) fn settle<T>(mut self, result: Result<T, IdentityError>) -> Result<T, IdentityError> {
        self.settled = true;
        let outcome = result.as_ref().map(|_| ()).map_err(|error| error.kind);
        self.tell(Some(outcome));
        result
    }

    fn tell(&self, outcome: Option<Result<(), IdentityErrorKind>>) {
        let now = self.gate.clock.now();
        self.gate.state().settle(self, outcome, now);
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        if !self.settled {
            self.tell(None);
        }
    }
}
