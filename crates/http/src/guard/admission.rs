//! Who may connect.

use crate::client::{Client, TrustedProxies};
use std::{
    collections::HashMap,
    fmt,
    net::IpAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
};
use tokio::sync::Notify;

/// How many may leave unread what is written for them: each of them holds buffers as long as we are patient.
const MAX_BLOCKED: usize = 128;

/// How many may be connected at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ConnectionLimits {
    /// In all.
    pub(crate) all: usize,
    /// From one address, or one IPv6 network. Trusted proxies speak for many, so they are not counted.
    pub(crate) per_address: usize,
}

/// The door of one listener. Clones are the same.
#[derive(Clone)]
pub(crate) struct Admission(Arc<Door>);

struct Door {
    proxies: TrustedProxies,
    inside: Mutex<Inside>,
    /// How many do not read what is written for them.
    blocked: AtomicUsize,
    ahead: Arc<AtomicUsize>,
    /// Told when the last has left.
    empty: Notify,
    counts: Counts,
}

#[derive(Default)]
struct Inside {
    all: usize,
    by_client: HashMap<Client, usize>,
}

/// What has happened at the door so far.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Connections that were turned away.
    pub(crate) refused: AtomicU64,
    /// Connections that made us wait for too long, or sent too much.
    pub(crate) cut_off: AtomicU64,
}

impl Admission {
    pub(crate) fn new(proxies: TrustedProxies) -> Self {
        Self(Arc::new(Door {
            proxies,
            inside: Mutex::default(),
            blocked: AtomicUsize::new(0),
            ahead: Arc::default(),
            empty: Notify::new(),
            counts: Counts::default(),
        }))
    }

    /// Lets a connection in, as long as what it gets is kept.
    pub(crate) fn admit(&self, limits: ConnectionLimits, peer: Option<IpAddr>) -> Option<Admitted> {
        let client = peer.filter(|peer| !self.0.proxies.trusts(peer.to_canonical())).map(Client::at);
        let mut inside = self.0.inside();
        let alike = client.map_or(0, |client| inside.by_client.get(&client).copied().unwrap_or_default());
        if inside.all >= limits.all || alike >= limits.per_address {
            self.0.counts.refused.fetch_add(1, Relaxed);
            return None;
        }
        inside.all += 1;
        if let Some(client) = client {
            *inside.by_client.entry(client).or_default() += 1;
        }
        Some(Admitted { door: self.0.clone(), client, crowd: limits.all / 4 * 3 })
    }

    /// How many are connected.
    pub(crate) fn open(&self) -> usize {
        self.0.inside().all
    }

    /// Waits until nobody is.
    pub(crate) async fn empty(&self) {
        loop {
            let empty = self.0.empty.notified();
            if self.open() == 0 {
                return;
            }
            empty.await;
        }
    }

    pub(crate) fn counts(&self) -> &Counts {
        &self.0.counts
    }
}

impl fmt::Debug for Admission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admission").field("open", &self.open()).finish()
    }
}

impl Door {
    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection that was let in. It counts until this is dropped.
pub(crate) struct Admitted {
    door: Arc<Door>,
    client: Option<Client>,
    /// More than this are a crowd.
    crowd: usize,
}

impl Admitted {
    /// Whether there is so little room left that nobody can be waited for as long as usual.
    pub(crate) fn is_crowded(&self) -> bool {
        self.door.inside().all > self.crowd
    }

    /// How many requests were read ahead on all connections together.
    pub(crate) fn ahead(&self) -> &Arc<AtomicUsize> {
        &self.door.ahead
    }

    /// Notes that the connection does not read what is written for it. Returns nothing where too many do not.
    pub(crate) fn block(&self) -> Option<Blocked> {
        let blocked = Blocked(Arc::clone(&self.door));
        (self.door.blocked.fetch_add(1, Relaxed) < MAX_BLOCKED).then_some(blocked)
    }

    /// Notes that the connection is ended for what it did, or did not do.
    pub(crate) fn cut_off(&self) {
        self.door.counts.cut_off.fetch_add(1, Relaxed);
    }
}

/// A connection that does not read, for as long as this is kept.
pub(crate) struct Blocked(Arc<Door>);

impl Drop for Blocked {
    fn drop(&mut self) {
        self.0.blocked.fetch_sub(1, Relaxed);
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        let mut inside = self.door.inside();
        inside.all = inside.all.saturating_sub(1);
        if inside.all == 0 {
            self.door.empty.notify_waiters();
        }
        if let Some(client) = self.client
            && let Some(count) = inside.by_client.get_mut(&client)
        {
            *count -= 1;
            if *count == 0 {
                inside.by_client.remove(&client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A door with its limits.
    struct Limited(Admission, ConnectionLimits);

    impl Limited {
        fn admit(&self, peer: Option<IpAddr>) -> Option<Admitted> {
            self.0.admit(self.1, peer)
        }

        fn is_forgotten(&self) -> bool {
            self.0.0.inside().by_client.is_empty()
        }
    }

    fn door(all: usize, per_address: usize) -> Limited {
        let proxies = TrustedProxies::new(|address| address.to_string().starts_with("10."));
        Limited(Admission::new(proxies), ConnectionLimits { all, per_address })
    }

    fn from(address: &str) -> Option<IpAddr> {
        Some(address.parse().unwrap())
    }

    #[test]
    fn no_more_are_let_in_than_there_is_room_for_and_each_leaves_it_to_the_next() {
        let door = door(2, 2);
        let one = door.admit(from("203.0.113.1")).unwrap();
        let _other = door.admit(None).unwrap();
        assert!(door.admit(from("203.0.113.2")).is_none());
        drop(one);
        assert!(door.admit(from("203.0.113.2")).is_some());
        assert_eq!((door.0.open(), door.0.counts().refused.load(Relaxed)), (1, 1));
    }

    #[test]
    fn an_address_has_its_own_limit_and_an_ipv6_network_is_one() {
        let door = door(100, 1);
        let _one = door.admit(from("203.0.113.1")).unwrap();
        assert!(door.admit(from("203.0.113.1")).is_none());
        assert!(door.admit(from("::ffff:203.0.113.1")).is_none());
        let _other = door.admit(from("2001:db8::1")).unwrap();
        assert!(door.admit(from("2001:db8::2")).is_none());
        assert!(door.admit(from("2001:db8:0:1::2")).is_some());
    }

    #[test]
    fn a_trusted_proxy_speaks_for_many() {
        let door = door(100, 1);
        let _all: Vec<_> = (0..50).map(|_| door.admit(from("10.0.0.1")).unwrap()).collect();
        assert!(door.is_forgotten());
    }

    #[test]
    fn nothing_is_kept_of_those_who_have_left() {
        let door = door(100, 10);
        for number in 0..100 {
            door.admit(from(&format!("203.0.113.{number}"))).unwrap();
        }
        assert!(door.is_forgotten());
    }

    #[test]
    fn not_too_many_may_leave_their_answers_unread() {
        let door = door(8, 8);
        let admitted = door.admit(None).unwrap();
        let mut blocked: Vec<_> = (0..MAX_BLOCKED).map(|_| admitted.block().unwrap()).collect();
        assert!(admitted.block().is_none() && admitted.block().is_none());
        blocked.pop();
        assert!(admitted.block().is_some());
    }

    #[test]
    fn it_is_crowded_when_three_quarters_are_taken() {
        let door = door(8, 8);
        let mut all: Vec<_> = (0..6).map(|_| door.admit(None).unwrap()).collect();
        assert!(!all[0].is_crowded());
        all.push(door.admit(None).unwrap());
        assert!(all[0].is_crowded());
    }
}
