//! Background tasks: dispatching changes, writing back, revoking grants, cleaning up.

use super::{
    alert::{self, Webhook},
    clock_monitor::{ClockMonitor, ClockState},
    renewal::{OwnTls, follow_keys},
};
use crate::composition::{Composition, ServiceMetrics, write_interval};
use companion_cache::Cache;
use companion_domain::{
    change::Kind,
    port::{ApplyError, Clock, SessionStore, StoreError},
    usecase::{Alert, ChangeDispatcher, ListGuilds, ManageSessions, Observed, RevokeUnusedGrants, WatchBot},
};
use companion_http::{
    Projections,
    audit::{Audit, END_AUTHORISATION, EXPIRE},
};
use std::{future::ready, hint::black_box, num::NonZeroU32, sync::Arc, time::Duration};
use tokio::{sync::mpsc, task::JoinSet, time::sleep};

/// Interval at which changes are polled when no notification arrives. Bounds how late changes of another process are
/// seen.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// How long changes are gathered before one poll dispatches all of them. A busy bot makes hundreds a second.
const GATHER_TIME: Duration = Duration::from_millis(10);
/// Interval at which expired sessions are removed.
const CLEAN_UP_INTERVAL: Duration = Duration::from_secs(600);
/// Sessions removed per transaction, so that other writers do not wait long.
const PRUNE_BATCH: NonZeroU32 = NonZeroU32::new(500).unwrap();
/// Interval at which sessions are counted.
const COUNT_INTERVAL: Duration = Duration::from_secs(30);
/// Interval at which the revocation of unused grants is retried.
const REVOKE_INTERVAL: Duration = Duration::from_secs(60);
/// Grants revoked per round. Each takes a request to the platform.
const REVOKE_BATCH: NonZeroU32 = NonZeroU32::new(50).unwrap();
/// Interval at which sessions that ended without a waiting request are written to the audit log.
const AUDIT_INTERVAL: Duration = Duration::from_secs(1);

/// Interval at which the bot is compared with its history.
const WATCH_INTERVAL: Duration = Duration::from_millis(500);

/// Interval at which free memory is returned to the system, and the size of a block that the allocator treats as large.
const RELEASE_INTERVAL: Duration = Duration::from_secs(5);
const LARGE_BLOCK: usize = 4 << 20;

/// The running background tasks.
pub(super) struct Background {
    tasks: JoinSet<()>,
    list_guilds: Arc<ListGuilds>,
}

impl Background {
    pub(super) fn start(
        composition: &Composition,
        own_tls: Option<OwnTls>,
        webhook: Option<Webhook>,
    ) -> Self {
        let Composition { ports, use_cases, cache, projections, service_metrics, .. } = composition;
        let list_guilds = use_cases.list_guilds.clone();
        let mut tasks = JoinSet::new();
        tasks.spawn(follow(use_cases.dispatcher.clone()));
        tasks.spawn(count_sessions(ports.stores.sessions.clone(), service_metrics.clone()));
        tasks.spawn(write_uses(cache.clone(), write_interval(use_cases.authenticate.limits())));
        tasks.spawn(revoke_unused(use_cases.revoke_unused.clone()));
        tasks.spawn(audit_unattended_ends(list_guilds.clone()));
        if let Some(own_tls) = own_tls {
            tasks.spawn(own_tls.follow());
        }
        tasks.spawn(release_memory());
        tasks.spawn(follow_keys(composition.management.keys.clone(), composition.key_files.clone()));
        let (alerts, sent) = mpsc::unbounded_channel();
        let watched = use_cases.watch_bot.clone();
        tasks.spawn(watch_bot(projections.clone(), watched, webhook.is_some().then_some(alerts)));
        if let Some(webhook) = webhook {
            tasks.spawn(alert::deliver(use_cases.watch_bot.clone(), webhook, sent));
        }
        tasks.spawn(clean_up(use_cases.sessions.clone(), ports.clock.clone()));
        Self { tasks, list_guilds }
    }

    /// Stops all tasks. Each of their steps is one atomic port operation, so no partial write is left.
    pub(super) async fn stop(mut self) {
        self.tasks.shutdown().await;
        audit_ends(&self.list_guilds);
    }
}

async fn follow(dispatcher: Arc<ChangeDispatcher>) {
    let mut failures = FailureLog::new("follow changes");
    loop {
        failures.note(dispatcher.catch_up().await);
        if failures.failing {
            sleep(POLL_INTERVAL).await;
            continue;
        }
        tokio::select! {
            () = unpolled_change(&dispatcher) => {}
            () = sleep(POLL_INTERVAL) => {}
        }
    }
}

/// Makes the allocator return free memory to the system. It purges pages that have been free for ten seconds only when
/// a large block is freed, which an idle service never does.
async fn release_memory() {
    loop {
        sleep(RELEASE_INTERVAL).await;
        drop(black_box(Vec::<u8>::with_capacity(LARGE_BLOCK)));
    }
}

/// Waits for a change that no poll has covered since it was announced.
async fn unpolled_change(dispatcher: &ChangeDispatcher) {
    loop {
        dispatcher.wait_for_change().await;
        sleep(GATHER_TIME).await;
        tokio::select! {
            biased;
            () = dispatcher.wait_for_change() => return,
            () = ready(()) => {}
        }
    }
}

async fn write_uses(cache: Arc<Cache>, interval: Duration) {
    let mut failures = FailureLog::new("write the use of sessions");
    loop {
        sleep(interval).await;
        failures.note(cache.write_uses().await);
    }
}

async fn count_sessions(sessions: Arc<dyn SessionStore>, metrics: Arc<ServiceMetrics>) {
    let mut failures = FailureLog::new("count sessions");
    loop {
        let count = sessions.count().await;
        // An outdated count would look like a current one.
        metrics.counted(count.as_ref().ok().copied().flatten());
        failures.note(count);
        sleep(COUNT_INTERVAL).await;
    }
}

async fn revoke_unused(revoke_unused: Arc<RevokeUnusedGrants>) {
    let mut failures = FailureLog::new("give grants back");
    let mut reached = None;
    loop {
        let round = revoke_unused.round(reached, REVOKE_BATCH).await;
        reached = round.as_ref().ok().copied().flatten();
        failures.note(round);
        sleep(REVOKE_INTERVAL).await;
    }
}

/// Writes sessions that ended when no request waited for them to the audit log.
async fn audit_unattended_ends(list_guilds: Arc<ListGuilds>) {
    loop {
        sleep(AUDIT_INTERVAL).await;
        audit_ends(&list_guilds);
    }
}

fn audit_ends(list_guilds: &ListGuilds) {
    list_guilds
        .drain_unaudited_ends()
        .iter()
        .for_each(|session| Audit::by_service(END_AUTHORISATION).ended(session));
}

/// Watches the bot: begins and ends periods of its history, and hands alerts on.
async fn watch_bot(
    projections: Arc<Projections>,
    watch_bot: Arc<WatchBot>,
    alerts: Option<mpsc::UnboundedSender<Alert>>,
) {
    let (mut observed, mut failures) = (Observed::default(), FailureLog::new("watch the bot"));
    loop {
        sleep(WATCH_INTERVAL).await;
        failures.note(projections.read(Kind::Cluster).await);
        let (Some(clusters), Some(periods)) = (projections.clusters(), projections.periods()) else {
            continue;
        };
        let alert = match watch_bot.tick(&mut observed, &clusters, &periods, alerts.is_some()).await {
            Err(ApplyError::Store(error)) => Err(error),
            Ok(alert) => Ok(alert),
            // The reports are kept elsewhere.
            Err(_) => Ok(None),
        };
        if let (Ok(Some(alert)), Some(alerts)) = (&alert, &alerts) {
            let _ = alerts.send(alert.clone());
        }
        failures.note(alert);
    }
}

async fn clean_up(sessions: Arc<ManageSessions>, clock: Arc<dyn Clock>) {
    let mut failures = FailureLog::new("remove expired sessions");
    let mut clock_monitor = ClockMonitor::default();
    loop {
        let clock_state = clock_monitor.observe(clock.now(), clock.monotonic());
        failures.note(remove_sessions(&sessions, clock_state).await);
        sleep(CLEAN_UP_INTERVAL).await;
    }
}

/// Removes expired sessions, unless the date has just jumped: a clock that is briefly wrong must not sign users out.
/// Once the date is proven, sessions dated in the future age from now on.
async fn remove_sessions(sessions: &ManageSessions, clock_state: ClockState) -> Result<(), StoreError> {
    match clock_state {
        ClockState::Jumped => return Ok(()),
        ClockState::Unproven => {}
        ClockState::Proven => while sessions.rewind(PRUNE_BATCH).await? == u64::from(PRUNE_BATCH.get()) {},
    }
    loop {
        let over = sessions.prune(PRUNE_BATCH).await?;
        over.iter().for_each(|session| Audit::by_service(EXPIRE).ended(session));
        if over.len() < PRUNE_BATCH.get() as usize {
            return Ok(());
        }
    }
}

/// Logs a failure when it begins and when it ends, not on every repetition.
struct FailureLog {
    task: &'static str,
    failing: bool,
}

impl FailureLog {
    const fn new(task: &'static str) -> Self {
        Self { task, failing: false }
    }

    fn note<T>(&mut self, outcome: Result<T, StoreError>) {
        let was_failing = std::mem::replace(&mut self.failing, outcome.is_err());
        match outcome {
            Err(error) if !was_failing => {
                tracing::warn!(cause = %error.cause, "cannot {}: {error}", self.task);
            }
            Ok(_) if was_failing => tracing::info!("can {} again", self.task),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use async_trait::async_trait;
    use companion_domain::{
        change::{Changes, Revision},
        port::{ChangeBatch, ChangeFeed, Record, Records as _, Subscriber},
    };
    use companion_storage_memory::MemoryStorage;
    use companion_testkit::{clock::FixedClock, world::user_id};
    use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
    use tokio::time::timeout;

    struct CountedFeed {
        storage: MemoryStorage,
        asks: AtomicU64,
    }

    #[async_trait]
    impl ChangeFeed for CountedFeed {
        async fn latest(&self) -> Result<Revision, StoreError> {
            self.storage.latest().await
        }

        async fn since(&self, revision: Revision) -> Result<Changes, StoreError> {
            self.asks.fetch_add(1, SeqCst);
            self.storage.since(revision).await
        }

        async fn wait_for_change(&self, revision: Revision) {
            self.storage.wait_for_change(revision).await;
        }
    }

    struct AnySubscriber;

    #[async_trait]
    impl Subscriber for AnySubscriber {
        async fn receive(&self, _: &ChangeBatch) -> Result<(), StoreError> {
            Ok(())
        }
    }

    fn counted() -> (Arc<CountedFeed>, Arc<ChangeDispatcher>) {
        let feed = Arc::new(CountedFeed { storage: MemoryStorage::new(), asks: AtomicU64::new(0) });
        let dispatcher = ChangeDispatcher::new(feed.clone(), Arc::new(FixedClock::default()));
        dispatcher.add(Arc::new(AnySubscriber));
        (feed, dispatcher)
    }

    #[tokio::test]
    async fn polls_once_for_changes_within_the_gather_time() {
        let (feed, dispatcher) = counted();
        dispatcher.catch_up().await.unwrap();
        let task = tokio::spawn(follow(dispatcher.clone()));
        while feed.asks.load(SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        let asked = feed.asks.load(SeqCst);
        for user in 1..=50 {
            feed.storage.put(Record::Blocked(user_id(user))).await.unwrap();
            // Gives the task time to poll, if it does not gather.
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
        }
        let latest = Some(feed.latest().await.unwrap());
        while dispatcher.shown() != latest {
            dispatcher.moved(dispatcher.shown()).await;
        }
        let asked = feed.asks.load(SeqCst) - asked;
        assert!(asked < 10, "{asked} times for fifty changes");
        task.abort();
    }

    #[tokio::test]
    async fn ignores_changes_that_another_poll_covered() {
        let (feed, dispatcher) = counted();
        dispatcher.catch_up().await.unwrap();
        feed.storage.put(Record::Blocked(user_id(1))).await.unwrap();
        let change = timeout(GATHER_TIME * 3, unpolled_change(&dispatcher));
        let (change, caught_up) = tokio::join!(change, dispatcher.catch_up());
        caught_up.unwrap();
        assert!(change.is_err(), "the writer has polled already");
        feed.storage.put(Record::Blocked(user_id(2))).await.unwrap();
        unpolled_change(&dispatcher).await;
    }
}
