//! What happens without anyone asking: following changes, writing back, tidying up.

use super::steadiness::{Steadiness, Verdict};
use crate::composition::Composition;
use companion_domain::{
    port::{BotTelemetry, Clock, StoreError},
    usecase::{Authenticate, Following, GiveBack, ManageSessions, Round},
};
use companion_http::Projections;
use std::{num::NonZeroU32, sync::Arc, time::Duration};
use tokio::{sync::watch, task::JoinSet, time::sleep};

/// How often changes are asked for when nothing wakes us: what another process writes shows within a second.
const POLL: Duration = Duration::from_millis(250);
/// How often it is written which sessions were used.
const WRITE_BACK: Duration = Duration::from_secs(30);
/// How often what is over is removed.
const TIDY: Duration = Duration::from_secs(600);
/// How many sessions are removed at once, so that no writer waits long.
const BATCH: NonZeroU32 = NonZeroU32::new(500).unwrap();
/// How often grants that nobody uses any more are offered to the platform again.
const GIVE_BACK: Duration = Duration::from_secs(60);
/// How many of them at once: the platform is asked one by one.
const GIVE_BACK_AT_ONCE: NonZeroU32 = NonZeroU32::new(50).unwrap();
/// How long a silent cluster of the bot is remembered. It stopped to count long before.
const CLUSTER_MEMORY: Duration = Duration::from_secs(24 * 60 * 60);

/// The tasks in the background.
pub(super) struct Background {
    stop: watch::Sender<bool>,
    tasks: JoinSet<()>,
}

impl Background {
    pub(super) fn start(composition: &Composition) -> Self {
        let (stop, stopped) = watch::channel(false);
        let mut tasks = JoinSet::new();
        tasks.spawn(until(stopped.clone(), follow(composition.use_cases.following.clone())));
        tasks.spawn(until(stopped.clone(), write_back(composition.use_cases.authenticate.clone())));
        tasks.spawn(until(stopped.clone(), give_back(composition.use_cases.give_back.clone())));
        tasks.spawn(until(
            stopped,
            tidy(Tidied {
                sessions: composition.use_cases.sessions.clone(),
                telemetry: composition.ports.stores.telemetry.clone(),
                projections: composition.projections.clone(),
                clock: composition.ports.clock.clone(),
            }),
        ));
        Self { stop, tasks }
    }

    /// Ends all of them. Each step of theirs is one atomic operation of a port, so nothing is left half done.
    pub(super) async fn stop(mut self) {
        self.stop.send_replace(true);
        while self.tasks.join_next().await.is_some() {}
    }
}

async fn until(mut stopped: watch::Receiver<bool>, work: impl Future<Output = ()>) {
    tokio::select! {
        _ = stopped.wait_for(|stopped| *stopped) => {}
        () = work => {}
    }
}

async fn follow(following: Arc<Following>) {
    let mut failures = FailureLog::new("changes cannot be followed");
    loop {
        failures.note(following.catch_up().await);
        if failures.now {
            sleep(POLL).await;
            continue;
        }
        tokio::select! {
            () = following.news() => {}
            () = sleep(POLL) => {}
        }
    }
}

async fn write_back(authenticate: Arc<Authenticate>) {
    let mut failures = FailureLog::new("the use of sessions cannot be written back");
    loop {
        sleep(WRITE_BACK).await;
        failures.note(authenticate.write_back().await);
    }
}

async fn give_back(give_back: Arc<GiveBack>) {
    let mut failures = FailureLog::new("grants cannot be given back");
    let mut reached = None;
    loop {
        let round = give_back.round(reached, GIVE_BACK_AT_ONCE).await;
        reached = match &round {
            Ok(Round::Reached(user)) => Some(*user),
            Ok(Round::Done) | Err(_) => None,
        };
        failures.note(round);
        sleep(GIVE_BACK).await;
    }
}

/// What is tidied up.
struct Tidied {
    sessions: Arc<ManageSessions>,
    telemetry: Arc<dyn BotTelemetry>,
    projections: Arc<Projections>,
    clock: Arc<dyn Clock>,
}

async fn tidy(tidied: Tidied) {
    let Tidied { sessions, telemetry, projections, clock } = tidied;
    let mut failures = FailureLog::new("what is over cannot be removed");
    let mut steadiness = Steadiness::default();
    loop {
        let verdict = steadiness.look(clock.now(), clock.monotonic());
        failures.note(tidy_sessions(&sessions, verdict).await);
        failures.note(telemetry.forget_silent(&projections.silent_clusters(CLUSTER_MEMORY)).await);
        sleep(TIDY).await;
    }
}

/// Removes sessions that are over, unless the date has just jumped: who is not here now must not be signed out by a clock
/// that is wrong for a moment. Sessions that are dated ahead age from now on once the date is proven.
async fn tidy_sessions(sessions: &ManageSessions, date: Verdict) -> Result<(), StoreError> {
    match date {
        Verdict::Jumped => return Ok(()),
        Verdict::Unsuspicious => {}
        Verdict::Proven => while sessions.rewind(BATCH).await? == u64::from(BATCH.get()) {},
    }
    while sessions.prune(BATCH).await?.len() == BATCH.get() as usize {}
    Ok(())
}

/// Tells of a failure when it begins and when it is over, not every time in between.
struct FailureLog {
    what: &'static str,
    now: bool,
}

impl FailureLog {
    const fn new(what: &'static str) -> Self {
        Self { what, now: false }
    }

    fn note<T>(&mut self, outcome: Result<T, StoreError>) {
        let was = std::mem::replace(&mut self.now, outcome.is_err());
        match outcome {
            Err(error) if !was => tracing::warn!(cause = %error.cause, "{}: {error}", self.what),
            Ok(_) if was => tracing::info!("no longer true: {}", self.what),
            _ => {}
        }
    }
}
