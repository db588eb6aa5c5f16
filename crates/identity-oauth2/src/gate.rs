//! The gate: whether a call may go out, and what is learnt from what comes back.

use crate::{
    Limits, Route, Statistics,
    asker::Asker,
    breaker::{Breaker, News, Ticket},
    budget::Budget,
    charges::Charges,
    client::{Answer, Client, Request, counts_as_refused},
    failure::CallError,
    limits::{LimitMemory, Said, TokenMark},
    route::PerRoute,
    settings::Settings,
    statistics::Counts,
};
use companion_domain::{
    model::Timestamp,
    port::{Clock, IdentityError, IdentityErrorKind, Standing},
};
use http::StatusCode;
use serde::de::IgnoredAny;
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
    /// For whom.
    pub(crate) asker: Asker,
    /// With which access token, where there is one.
    pub(crate) token: Option<TokenMark>,
    /// How the client stands whose code goes along, where one does: of codes only so many may be bad.
    pub(crate) code: Option<Standing>,
}

impl Errand {
    /// Who pays where it is refused. Where tokens are made and ended, that is about our own credentials.
    const fn payer(self) -> Asker {
        match self.route {
            Route::Token | Route::Revoke => Asker::Ourselves,
            Route::User | Route::Guilds => self.asker,
        }
    }
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
    charges: Charges,
    refused: Budget,
    refused_in_all: Budget,
    bad_codes: Budget,
    kept_codes: usize,
    counts: PerRoute<Counts>,
}

impl Gate {
    pub(crate) fn new(settings: &Settings, clock: Arc<dyn Clock>) -> Self {
        let Limits { calls_at_once, breaker, .. } = settings.limits;
        let Limits { refused_per_user, refused, refused_in_all, bad_codes, kept_codes, .. } = settings.limits;
        Self {
            clock,
            places: PerRoute::new(|| Semaphore::new(calls_at_once)),
            patience: settings.deadlines.place,
            state: Mutex::new(State {
                limits: LimitMemory::default(),
                breakers: PerRoute::new(|| Breaker::new(breaker)),
                charges: Charges::new(refused_per_user),
                refused: Budget::new(refused),
                refused_in_all: Budget::new(refused_in_all),
                bad_codes: Budget::new(bad_codes),
                kept_codes,
                counts: PerRoute::default(),
            }),
        }
    }

    /// Lets the errand through, or says how long to wait. Whoever is refused for another reason than the crowd hears
    /// it at once.
    pub(crate) async fn enter(&self, errand: Errand) -> Result<Pass<'_>, IdentityError> {
        let entered = self.try_enter(errand).await;
        entered.map_err(|error| self.turned_away(errand.route, error))
    }

    /// Whether the errand would be let through now, as far as that can be told without waiting for the crowd.
    pub(crate) fn would_let(&self, errand: Errand) -> Result<(), IdentityError> {
        let checked = self.state().check(errand, self.now());
        checked.map_err(|error| self.turned_away(errand.route, error))
    }

    fn turned_away(&self, route: Route, error: CallError) -> IdentityError {
        let error = IdentityError::from(error);
        self.state().counts.of_mut(route).count(Err(error.kind));
        error
    }

    async fn try_enter(&self, errand: Errand) -> Result<Pass<'_>, CallError> {
        self.state().check(errand, self.now())?;
        let place = timeout(self.patience, self.places.of(errand.route).acquire()).await;
        let Ok(Ok(place)) = place else {
            return Err(limited("all places are taken", WITHOUT_A_PLACE));
        };
        let ticket = self.state().admit(errand, self.now())?;
        Ok(Pass { gate: self, errand, ticket, heard: OnceLock::new(), settled: false, _place: place })
    }

    pub(crate) fn statistics(&self, unreadable_guilds: u64) -> Statistics {
        let now = self.now();
        let mut state = self.state();
        Statistics {
            refused_answers: state.refused_in_all.spent(now),
            bad_codes: state.bad_codes.spent(now),
            unreadable_guilds,
            routes: state.counts.with_breakers(|route| state.breakers.of(route).state()),
        }
    }

    /// The time by which limits, budgets and breakers go: monotonic, so that no clock that is set opens or shuts the gate.
    fn now(&self) -> Timestamp {
        Timestamp::EPOCH.after(self.clock.monotonic())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn limited(reason: &'static str, wait: Duration) -> CallError {
    CallError::Limited { reason, wait }
}

impl State {
    /// Whether the errand would be let through now.
    fn check(&mut self, errand: Errand, now: Timestamp) -> Result<(), CallError> {
        let Errand { route, token, code, .. } = errand;
        if let Some(wait) = self.limits.left(route, token, now) {
            return Err(limited("the platform said to wait", wait));
        }
        let charged = match errand.payer() {
            Asker::Ourselves => self.refused.empty_for(now),
            Asker::Client(_) => None,
            Asker::User(user) => self.charges.empty_for(user, now),
        };
        if let Some(wait) = charged {
            return Err(limited("the platform has refused this too often", wait));
        }
        if let Some(wait) = self.refused_in_all.empty_for(now) {
            return Err(limited("the platform has refused us too often", wait));
        }
        let kept = code.map(|standing| match standing {
            Standing::Good => 0,
            Standing::Doubtful => self.kept_codes,
        });
        if let Some(wait) = kept.and_then(|kept| self.bad_codes.empty_but_for(kept, now)) {
            return Err(limited("too many codes were bad", wait));
        }
        if let Some(wait) = self.breakers.of(route).closed_for(now) {
            return Err(limited("the platform keeps failing", wait));
        }
        Ok(())
    }

    fn admit(&mut self, errand: Errand, now: Timestamp) -> Result<Ticket, CallError> {
        self.check(errand, now)?;
        let ticket = self.breakers.of_mut(errand.route).admit(now);
        let ticket = ticket.map_err(|wait| limited("the platform keeps failing", wait))?;
        // None can fail: there was room a moment ago, and nobody else was here since.
        let _ = self.refused_in_all.reserve(now);
        if let Asker::Ourselves = errand.payer() {
            let _ = self.refused.reserve(now);
        }
        if errand.code.is_some() {
            let _ = self.bad_codes.reserve(now);
        }
        self.counts.of_mut(errand.route).count_sent();
        Ok(ticket)
    }

    fn settle(&mut self, pass: &Pass<'_>, outcome: Option<Result<(), IdentityErrorKind>>, now: Timestamp) {
        let Errand { route, code, .. } = pass.errand;
        let heard = pass.heard.get().copied();
        let status = heard.map(|heard| heard.status);
        let refused = status.is_some_and(counts_as_refused);
        self.refused_in_all.settle(refused, now);
        match pass.errand.payer() {
            Asker::Ourselves => self.refused.settle(refused, now),
            Asker::User(user) if refused => self.charges.charge(user, now),
            Asker::User(_) | Asker::Client(_) => {}
        }
        if code.is_some() {
            // What became of a code that was given up is not known, so it counts.
            let bad =
                outcome.is_none() || (status.is_some_and(|status| status.is_client_error()) && !refused);
            self.bad_codes.settle(bad, now);
        }
        match outcome {
            None => self.breakers.of_mut(route).forget(pass.ticket),
            Some(outcome) => {
                let news = news(pass.errand.asker, outcome, heard);
                self.breakers.of_mut(route).learn(pass.ticket, news, now);
                if heard.is_some_and(|heard| heard.ban) {
                    // Whoever is banned is so everywhere.
                    for other in Route::ALL.into_iter().filter(|other| *other != route) {
                        self.breakers.of_mut(other).learn(Ticket::Ordinary, News::Failing, now);
                    }
                }
                self.counts.of_mut(route).count(outcome);
            }
        }
    }
}

/// What came back, as far as it says something about the platform.
#[derive(Debug, Clone, Copy)]
struct Heard {
    status: StatusCode,
    /// Whether it refuses with a page instead of the platform's own words, which comes from what stands before it.
    ban: bool,
}

impl Heard {
    fn of(answer: &Answer) -> Self {
        let status = answer.status();
        let in_words = || serde_json::from_slice::<IgnoredAny>(answer.body()).is_ok();
        Self { status, ban: status == StatusCode::FORBIDDEN && !in_words() }
    }
}

/// What an outcome says about the platform. One that refuses politely is up; but what it refuses to one user, or tells
/// them in words that make no sense, says nothing about the others.
fn news(asker: Asker, outcome: Result<(), IdentityErrorKind>, heard: Option<Heard>) -> News {
    let told = match asker {
        Asker::Ourselves => News::Failing,
        asker @ (Asker::Client(_) | Asker::User(_)) => News::Told(asker),
    };
    match outcome {
        Ok(()) | Err(IdentityErrorKind::BadGrant | IdentityErrorKind::ScopeMissing) => News::Alive,
        Err(IdentityErrorKind::TokenRefused) => told,
        Err(IdentityErrorKind::Unreachable | IdentityErrorKind::TimedOut) => News::Failing,
        Err(IdentityErrorKind::Limited(_) | IdentityErrorKind::Failed) => match heard {
            Some(Heard { ban: true, .. }) => News::Failing,
            Some(Heard { status: StatusCode::FORBIDDEN, .. }) => told,
            Some(Heard { status, .. }) if status.is_success() => told,
            Some(Heard { status, .. }) if status.is_client_error() => News::Alive,
            Some(_) | None => News::Failing,
        },
    }
}

/// The right to make one call. Whoever drops it without settling has given the call up.
pub(crate) struct Pass<'a> {
    gate: &'a Gate,
    errand: Errand,
    ticket: Ticket,
    heard: OnceLock<Heard>,
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
        let _ = self.heard.set(Heard::of(&answer));
        let said = Said::read(status, answer.headers(), answer.body());
        if let Some(said) = said {
            let Errand { route, token, .. } = self.errand;
            let now = self.gate.now();
            self.gate.state().limits.remember(route, token, said, now);
        }
        if let Some(said) = said.filter(|_| status == StatusCode::TOO_MANY_REQUESTS) {
            return Err(limited("the platform says to wait", said.wait).into());
        }
        let meant_for_us =
            status.is_success() || (status.is_client_error() && status != StatusCode::FORBIDDEN);
        if meant_for_us { Ok(answer) } else { Err(CallError::Status(status.as_u16()).into()) }
    }

    /// Says what came of it, and hands that on.
    pub(crate) fn settle<T>(mut self, result: Result<T, IdentityError>) -> Result<T, IdentityError> {
        self.settled = true;
        let outcome = result.as_ref().map(|_| ()).map_err(|error| error.kind);
        self.tell(Some(outcome));
        result
    }

    fn tell(&self, outcome: Option<Result<(), IdentityErrorKind>>) {
        let now = self.gate.now();
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
