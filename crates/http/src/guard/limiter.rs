//! Limits the connections of a listener: limiter, timeouts and eviction.
//!
//! One task per listener sweeps all connections every 250 ms, so that no request needs its own timer.

use super::ServerLimits;
use crate::{
    client::{Client, TrustedProxies},
    metrics::MetricsText,
};
use std::{
    collections::HashMap,
    net::IpAddr,
    ops::Deref,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    task::Waker,
    time::Duration,
};
use tokio::{sync::Notify, time::sleep};

/// Interval of the sweep, and the resolution of connection timeouts.
const TICK: Duration = Duration::from_millis(250);
/// Bytes of large heads and unread responses that the service buffers for one address.
const MAX_BUFFERED_PER_ADDRESS: usize = 4 << 20;
/// Total buffered bytes above which each address is limited to [`MAX_BUFFERED_UNDER_PRESSURE`].
const BUFFER_PRESSURE: usize = 16 << 20;
const MAX_BUFFERED_UNDER_PRESSURE: usize = MAX_BUFFERED_PER_ADDRESS / 32;

/// What a connection is waiting for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub(super) enum Phase {
    /// The first byte of the first request.
    New,
    /// The rest of a request head.
    Head,
    /// The next request.
    Idle,
    /// The application to respond.
    Busy,
    /// The client to read the response.
    Blocked,
}

impl Phase {
    /// In discriminant order.
    const ALL: [Self; 5] = [Self::New, Self::Head, Self::Idle, Self::Busy, Self::Blocked];

    const fn is_idle(self) -> bool {
        matches!(self, Self::New | Self::Head | Self::Idle)
    }

    const fn limit(self, limits: &ServerLimits) -> Duration {
        match self {
            Self::New => limits.request_head,
            Self::Head | Self::Blocked => limits.patience,
            Self::Idle => limits.keep_alive,
            Self::Busy => Duration::MAX,
        }
    }
}

/// Bit in the state of a connection that has to close. The connection keeps its phase.
const ENDED: u64 = 8;

/// The state of one connection, shared by its task and the sweep.
#[derive(Debug, Default)]
pub(super) struct Slot {
    /// `tick * 16 + ENDED + phase`: the tick in which the phase began, whether the connection has to close, and the
    /// phase.
    state: AtomicU64,
    /// Wakes the connection's task.
    waker: OnceLock<Waker>,
}

impl Slot {
    /// Stores the waker of the connection's task.
    pub(super) fn bind(&self, waker: &Waker) {
        self.waker.get_or_init(|| waker.clone());
    }

    pub(super) fn phase(&self) -> Phase {
        let phase = usize::try_from(self.state.load(Relaxed) % ENDED).unwrap_or_default();
        Phase::ALL.get(phase).copied().unwrap_or(Phase::Busy)
    }

    /// Whether the connection has to close because it timed out or was evicted.
    pub(super) fn has_ended(&self) -> bool {
        self.state.load(Relaxed) & ENDED != 0
    }

    fn since(&self) -> u64 {
        self.state.load(Relaxed) / (2 * ENDED)
    }

    /// Marks the connection as ended if `is_to_end` holds, and wakes its task. Returns whether this call marked it.
    fn end(&self, is_to_end: impl Fn(&Self) -> bool) -> bool {
        let state = self.state.load(Relaxed);
        let ends = state & ENDED == 0
            && is_to_end(self)
            && self.state.compare_exchange(state, state | ENDED, Relaxed, Relaxed).is_ok();
        if ends {
            self.wake();
        }
        ends
    }

    pub(super) fn wake(&self) {
        self.waker.get().into_iter().for_each(Waker::wake_by_ref);
    }
}

/// The connections of one client by number, and the bytes buffered for them.
#[derive(Debug, Default)]
struct ClientConnections {
    slots: HashMap<u64, Arc<Slot>>,
    bytes: usize,
}

/// All connections. Those of trusted proxies and of unknown peers have the client `None`.
#[derive(Debug, Default)]
struct Table {
    all: usize,
    numbered: u64,
    clients: HashMap<Option<Client>, ClientConnections>,
    bytes: usize,
}

impl Table {
    /// Ends the longest idle connection of the client with the most connections. Those of proxies come last. Returns
    /// `false` if no connection is idle.
    fn evict(&mut self) -> bool {
        let is_idle = |slot: &Slot| slot.phase().is_idle() && !slot.has_ended();
        loop {
            let holders =
                self.clients.iter().filter(|(_, held)| held.slots.values().any(|slot| is_idle(slot)));
            let most = holders.max_by_key(|(client, held)| (client.is_some(), held.slots.len()));
            let Some((&client, held)) = most else { return false };
            let idle = held.slots.iter().filter(|(_, slot)| is_idle(slot));
            let longest = idle.min_by_key(|(number, slot)| (slot.since(), **number));
            // If the connection has just become busy, the next iteration no longer finds it idle.
            if let Some((&number, slot)) = longest
                && slot.end(is_idle)
            {
                self.remove(client, number);
                return true;
            }
        }
    }

    fn remove(&mut self, client: Option<Client>, number: u64) {
        let Some(held) = self.clients.get_mut(&client) else { return };
        self.all -= usize::from(held.slots.remove(&number).is_some());
        if held.slots.is_empty() {
            self.clients.remove(&client);
        }
    }

    fn slots(&self) -> impl Iterator<Item = &Arc<Slot>> {
        self.clients.values().flat_map(|held| held.slots.values())
    }
}

/// The connection limiter of one listener. Clones share its state.
#[derive(Debug, Clone)]
pub(crate) struct ConnectionLimiter(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    proxies: TrustedProxies,
    table: Mutex<Table>,
    tick: AtomicU64,
    /// Notified when the last connection has closed.
    empty: Notify,
    refused: AtomicU64,
    cut_off: AtomicU64,
    evicted: AtomicU64,
}

impl Shared {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConnectionLimiter {
    pub(crate) fn new(proxies: TrustedProxies) -> Self {
        let (table, tick, refused, cut_off, evicted) = Default::default();
        Self(Arc::new(Shared { proxies, table, tick, empty: Notify::new(), refused, cut_off, evicted }))
    }

    /// Admits a connection. Returns `None` if its address has reached its limit, or if the listener has and no
    /// connection is idle.
    pub(super) fn admit(&self, limits: &ServerLimits, peer: Option<IpAddr>) -> Option<ConnectionPermit> {
        let shared = &self.0;
        let client = peer.filter(|peer| !shared.proxies.trusts(peer.to_canonical())).map(Client::at);
        let mut table = shared.table();
        let held = table.clients.get(&client).map_or(0, |held| held.slots.len());
        let mut has_room = client.is_none() || held < limits.connections_per_address;
        if has_room && table.all >= limits.connections {
            has_room = table.evict();
            shared.evicted.fetch_add(u64::from(has_room), Relaxed);
        }
        if !has_room {
            shared.refused.fetch_add(1, Relaxed);
            return None;
        }
        table.all += 1;
        table.numbered += 1;
        let (number, slot) = (table.numbered, Arc::new(Slot::default()));
        table.clients.entry(client).or_default().slots.insert(number, Arc::clone(&slot));
        let permit = ConnectionPermit { shared: Arc::clone(shared), client, number, slot };
        permit.enter(Phase::New);
        Some(permit)
    }

    /// Ends connections that have timed out. Runs until it is aborted.
    pub(crate) async fn sweep(self, limits: ServerLimits) {
        loop {
            sleep(TICK).await;
            self.sweep_once(&limits);
        }
    }

    fn sweep_once(&self, limits: &ServerLimits) {
        let now = self.0.tick.fetch_add(1, Relaxed) + 1;
        for slot in self.0.table().slots() {
            let is_late = |slot: &Slot| {
                // The tick in which the phase began is not counted, so that no connection times out early.
                let waited = u32::try_from(now.saturating_sub(slot.since() + 1)).unwrap_or(u32::MAX);
                TICK.saturating_mul(waited) >= slot.phase().limit(limits)
            };
            if slot.end(is_late) && slot.phase() != Phase::Idle {
                self.0.cut_off.fetch_add(1, Relaxed);
            }
        }
    }

    /// Wakes all connections, so that they see the stage of the shutdown.
    pub(crate) fn wake(&self) {
        self.0.table().slots().for_each(|slot| slot.wake());
    }

    /// Returns the number of open connections.
    pub(crate) fn open(&self) -> usize {
        self.0.table().all
    }

    /// Waits until no connection is open.
    pub(crate) async fn empty(&self) {
        loop {
            let empty = self.0.empty.notified();
            if self.open() == 0 {
                return;
            }
            empty.await;
        }
    }

    /// Writes the metrics of the connections of this listener.
    #[expect(clippy::cast_precision_loss, reason = "far fewer connections than f64 holds exactly")]
    pub(crate) fn write_metrics(&self, listener: &str, text: &mut MetricsText) {
        let listener = ("listener", listener);
        text.gauge("companion_connections", "Open connections.", &[listener], self.open() as f64);
        let Shared { refused, cut_off, evicted, .. } = &*self.0;
        for (reason, count) in [("refused", refused), ("cut_off", cut_off), ("evicted", evicted)] {
            text.counter(
                "companion_connections_ended_total",
                "Connections that were refused, cut off because the client was too slow, or evicted while idle.",
                &[listener, ("reason", reason)],
                count.load(Relaxed),
            );
        }
    }
}

/// A connection admitted by the limiter, released on drop.
pub(super) struct ConnectionPermit {
    shared: Arc<Shared>,
    client: Option<Client>,
    number: u64,
    slot: Arc<Slot>,
}

impl ConnectionPermit {
    /// Sets the phase and restarts its timeout, unless the connection has ended.
    pub(super) fn enter(&self, phase: Phase) {
        let now = self.shared.tick.load(Relaxed) * 2 * ENDED + phase as u64;
        let before = self.slot.state.swap(now, Relaxed);
        if before & ENDED != 0 {
            self.slot.state.store(before, Relaxed);
        }
    }

    /// Adds to the bytes buffered for the client. Returns whether it is still within its limit.
    pub(super) fn add_buffered(&self, bytes: usize) -> bool {
        let mut table = self.shared.table();
        let most = if table.bytes < BUFFER_PRESSURE {
            MAX_BUFFERED_PER_ADDRESS
        } else {
            MAX_BUFFERED_UNDER_PRESSURE
        };
        table.bytes += bytes;
        let Some(held) = table.clients.get_mut(&self.client) else { return false };
        held.bytes += bytes;
        self.client.is_none() || held.bytes <= most
    }

    /// Subtracts from the bytes buffered for the client.
    pub(super) fn remove_buffered(&self, bytes: usize) {
        let mut table = self.shared.table();
        table.bytes -= bytes;
        table.clients.get_mut(&self.client).into_iter().for_each(|held| held.bytes -= bytes);
    }

    /// Counts the connection as closed because of its client.
    pub(super) fn cut_off(&self) {
        self.shared.cut_off.fetch_add(1, Relaxed);
    }
}

impl Deref for ConnectionPermit {
    type Target = Slot;

    fn deref(&self) -> &Slot {
        &self.slot
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut table = self.shared.table();
        table.remove(self.client, self.number);
        if table.all == 0 {
            self.shared.empty.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A limiter with its limits.
    struct TestLimiter(ConnectionLimiter, ServerLimits);

    impl TestLimiter {
        fn new(all: usize, per_address: usize) -> Self {
            let proxies = TrustedProxies::new(|address| address.to_string().starts_with("10."));
            let second = Duration::from_secs(1);
            let limits = ServerLimits {
                connections: all,
                connections_per_address: per_address,
                request_head: second,
                patience: second * 2,
                keep_alive: second * 3,
                ..ServerLimits::default()
            };
            Self(ConnectionLimiter::new(proxies), limits)
        }

        fn admit(&self, address: &str) -> Option<ConnectionPermit> {
            self.0.admit(&self.1, Some(address.parse().unwrap()))
        }

        /// Admits a connection, sets its phase, and sweeps once.
        fn in_phase(&self, address: &str, phase: Phase) -> ConnectionPermit {
            let permit = self.admit(address).unwrap();
            permit.enter(phase);
            self.tick();
            permit
        }

        fn tick(&self) {
            self.0.sweep_once(&self.1);
        }

        fn is_empty(&self) -> bool {
            let table = self.0.0.table();
            table.clients.is_empty() && table.all == 0 && table.bytes == 0
        }
    }

    fn has_ended<const N: usize>(permits: [&ConnectionPermit; N]) -> [bool; N] {
        permits.map(|permit| permit.has_ended())
    }

    #[test]
    fn refuses_connections_beyond_the_limit_if_none_is_idle() {
        let limiter = TestLimiter::new(2, 2);
        let one = limiter.in_phase("203.0.113.1", Phase::Busy);
        let _other = limiter.in_phase("203.0.113.1", Phase::Blocked);
        assert!(limiter.admit("203.0.113.2").is_none());
        drop(one);
        assert!(limiter.admit("203.0.113.2").is_some());
        assert_eq!((limiter.0.open(), limiter.0.0.refused.load(Relaxed)), (1, 1));
    }

    #[test]
    fn limits_connections_per_address_and_ipv6_network() {
        let limiter = TestLimiter::new(100, 1);
        let _one = limiter.admit("203.0.113.1").unwrap();
        assert!(limiter.admit("203.0.113.1").is_none());
        assert!(limiter.admit("::ffff:203.0.113.1").is_none());
        let _other = limiter.admit("2001:db8::1").unwrap();
        assert!(limiter.admit("2001:db8::2").is_none());
        assert!(limiter.admit("2001:db8:0:1::2").is_some());
        let proxies = [limiter.admit("10.0.0.1"), limiter.admit("10.0.0.1")];
        assert!(proxies.iter().all(Option::is_some), "trusted proxies are exempt");
    }

    #[test]
    fn evicts_the_longest_idle_of_the_address_that_holds_most() {
        let limiter = TestLimiter::new(6, 6);
        let single = limiter.in_phase("203.0.113.1", Phase::Idle);
        let busy = limiter.in_phase("203.0.113.2", Phase::Busy);
        let used_again = limiter.in_phase("203.0.113.2", Phase::Idle);
        let longest = limiter.in_phase("203.0.113.2", Phase::Head);
        used_again.enter(Phase::Idle);
        let proxies = [limiter.in_phase("10.0.0.1", Phase::Idle), limiter.in_phase("10.0.0.1", Phase::Idle)];
        let new = limiter.admit("203.0.113.3").unwrap();
        assert_eq!(
            has_ended([&single, &busy, &used_again, &longest, &new]),
            [false, false, false, true, false]
        );
        let newer = limiter.admit("203.0.113.4").unwrap();
        assert_eq!(has_ended([&single, &busy, &used_again, &newer]), [false, false, true, false]);
        assert_eq!(has_ended([&proxies[0], &proxies[1]]), [false, false]);
        assert_eq!((limiter.0.open(), limiter.0.0.evicted.load(Relaxed)), (6, 2));
        drop((single, busy, used_again, longest, new, newer, proxies));
        assert!(limiter.is_empty());
    }

    #[test]
    fn evicts_proxies_last() {
        let limiter = TestLimiter::new(2, 2);
        let proxies = [limiter.in_phase("10.0.0.1", Phase::Idle), limiter.in_phase("10.0.0.1", Phase::Idle)];
        let _new = limiter.in_phase("203.0.113.1", Phase::Busy);
        assert_eq!(has_ended(proxies.each_ref()), [true, false]);
    }

    #[test]
    fn ends_connections_that_are_late_and_never_early() {
        let limiter = TestLimiter::new(100, 100);
        let phases = [Phase::New, Phase::Head, Phase::Idle, Phase::Busy, Phase::Blocked];
        let all = phases.map(|phase| {
            let permit = limiter.admit("203.0.113.1").unwrap();
            permit.enter(phase);
            permit
        });
        let seconds = |limiter: &TestLimiter, count: u32| (0..count * 4).for_each(|_| limiter.tick());
        seconds(&limiter, 1);
        assert_eq!(has_ended(all.each_ref()), [false; 5]);
        limiter.tick();
        for expected in [
            [true, false, false, false, false],
            [true, true, false, false, true],
            [true, true, true, false, true],
            [true, true, true, false, true],
        ] {
            assert_eq!(has_ended(all.each_ref()), expected);
            seconds(&limiter, 1);
        }
        let cut_off = limiter.0.0.cut_off.load(Relaxed);
        assert_eq!(cut_off, 3, "closing an idle connection does not count as cut off");
    }

    #[test]
    fn progress_restarts_the_write_timeout() {
        let limiter = TestLimiter::new(1, 1);
        let permit = limiter.admit("203.0.113.1").unwrap();
        for _ in 0..20 {
            permit.enter(Phase::Blocked);
            (0..8).for_each(|_| limiter.tick());
            assert!(!permit.has_ended());
            permit.enter(Phase::Busy);
        }
        permit.enter(Phase::Blocked);
        (0..9).for_each(|_| limiter.tick());
        assert!(permit.has_ended());
    }

    #[test]
    fn bounds_buffered_bytes_per_address() {
        let limiter = TestLimiter::new(1000, 1000);
        let stalled: Vec<_> = (0..256).map(|_| limiter.admit("203.0.113.1").unwrap()).collect();
        assert!(stalled.iter().all(|permit| permit.add_buffered(MAX_BUFFERED_PER_ADDRESS / 256)));
        let one_more = limiter.admit("203.0.113.1").unwrap();
        assert!(!one_more.add_buffered(1));
        assert!(
            limiter.admit("203.0.113.2").unwrap().add_buffered(MAX_BUFFERED_PER_ADDRESS),
            "another address"
        );
        stalled[0].remove_buffered(MAX_BUFFERED_PER_ADDRESS / 256);
        one_more.remove_buffered(1);
        assert!(one_more.add_buffered(1));
    }

    #[test]
    fn lowers_the_bound_per_address_under_pressure() {
        let limiter = TestLimiter::new(1000, 1000);
        let greedy: Vec<_> = (0..BUFFER_PRESSURE / MAX_BUFFERED_PER_ADDRESS)
            .map(|number| limiter.admit(&format!("203.0.113.{number}")).unwrap())
            .collect();
        assert!(greedy.iter().all(|permit| permit.add_buffered(MAX_BUFFERED_PER_ADDRESS)));
        assert!(limiter.admit("198.51.100.1").unwrap().add_buffered(16 * 1024), "an honest client");
        assert!(!greedy[0].add_buffered(1));
        assert!(!limiter.admit("198.51.100.2").unwrap().add_buffered(MAX_BUFFERED_UNDER_PRESSURE + 1));
    }
}
