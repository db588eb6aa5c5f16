//! The adapter under test, the hooks of its author, and stored values that can be made unreadable.

use companion_domain::{
    change::Key,
    model::{ClusterId, UserId},
};
use futures_util::{future::BoxFuture, poll};
use std::{
    any::Any,
    fmt::Debug,
    future::ready,
    pin::pin,
    sync::{Arc, OnceLock},
    time::Duration,
};
use tokio::{runtime::Handle, sync::oneshot, task::spawn_blocking, time::timeout};

/// An unused adapter for one test.
///
/// Both handles lead to the same store. An adapter that several processes can share provides two independent ones, such
/// as two pools over one database; otherwise both are the same handle.
pub struct Fresh<P: ?Sized> {
    /// The adapter.
    pub one: Arc<P>,
    /// The same store through another handle.
    pub other: Arc<P>,
    hooks: Hooks,
    kept: Vec<Box<dyn Any + Send + Sync>>,
}

/// Default timeout of operations that take microseconds.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(5);

/// Operations that only the adapter's author can provide.
struct Hooks {
    patience: Duration,
    settle: Hook<(), ()>,
    close_gate: Option<Hook<(), Gate>>,
    damage: Option<Hook<Damage, bool>>,
    /// The name of the hook that the behaviour needed and that is missing.
    missed: OnceLock<&'static str>,
}

pub(super) type Hook<A, T> = Arc<dyn Fn(A) -> BoxFuture<'static, T> + Send + Sync>;

/// Blocks writes until dropped.
pub type Gate = Box<dyn Any + Send>;

impl<P: ?Sized> Fresh<P> {
    /// Creates an adapter with a single handle.
    #[must_use]
    pub fn new(adapter: Arc<P>) -> Self {
        let hooks = Hooks {
            patience: DEFAULT_TIMEOUT,
            settle: Arc::new(|()| Box::pin(ready(()))),
            close_gate: None,
            damage: None,
            missed: OnceLock::new(),
        };
        Self { other: Arc::clone(&adapter), one: adapter, hooks, kept: Vec::new() }
    }

    /// Adds a second handle to the same store.
    #[must_use]
    pub fn with_other(self, other: Arc<P>) -> Self {
        Self { other, ..self }
    }

    /// Sets the hook that brings a caching decorator up to date: afterwards each handle shows what was written through
    /// the other, as it would by itself a second later. A plain store needs no hook.
    #[must_use]
    pub fn settling<F>(mut self, settle: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.hooks.settle = Arc::new(move |()| Box::pin(settle()));
        self
    }

    /// Sets the hook that blocks writes, for instance by holding the database's write lock until the [`Gate`] is
    /// dropped. With it the suites check that a write does not block the polling thread.
    #[must_use]
    pub fn gating<F>(mut self, close_gate: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Gate> + Send + 'static,
    {
        self.hooks.close_gate = Some(Arc::new(move |()| Box::pin(close_gate())));
        self
    }

    /// Sets the hook that makes a stored value unreadable; it returns false if that is impossible. With it the suites
    /// check that an unreadable value affects no other.
    #[must_use]
    pub fn damaging<F>(mut self, damage: impl Fn(Damage) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = bool> + Send + 'static,
    {
        self.hooks.damage = Some(Arc::new(move |what| Box::pin(damage(what))));
        self
    }

    /// Sets how long a behaviour waits before the adapter counts as blocked. Useful if a failure is expected.
    #[must_use]
    pub fn giving_up_after(mut self, patience: Duration) -> Self {
        self.hooks.patience = patience;
        self
    }

    /// Returns how long to wait before the adapter counts as blocked.
    pub(super) fn patience(&self) -> Duration {
        self.hooks.patience
    }

    /// Keeps a value alive until the test is over, such as the folder that the adapter writes to.
    #[must_use]
    pub fn keeping(mut self, guard: impl Any + Send + Sync) -> Self {
        self.kept.push(Box::new(guard));
        self
    }

    /// Selects one part of the adapter, for the suite of a single port.
    #[must_use]
    pub fn port<Q: ?Sized>(self, part: impl Fn(&P) -> &Arc<Q>) -> Fresh<Q> {
        let Self { one, other, hooks, kept } = self;
        Fresh { one: Arc::clone(part(&one)), other: Arc::clone(part(&other)), hooks, kept }
    }

    /// Must run between a write through one handle and a read through the other. Reads through the writing handle and
    /// results of writes do not need it.
    pub async fn settle(&self) {
        (self.hooks.settle)(()).await;
    }

    /// Runs the check on both handles after a write through the first: on the first at once, on the other after
    /// settling.
    pub(super) async fn through_both(&self, check: impl AsyncFn(&Arc<P>)) {
        check(&self.one).await;
        self.settle().await;
        check(&self.other).await;
    }

    /// Returns what both handles show after a write through the first, which must be the same: the first at once, the
    /// other after settling.
    pub(super) async fn shows<T: PartialEq + Debug>(&self, read: impl AsyncFn(&Arc<P>) -> T) -> T {
        let shown = read(&self.one).await;
        self.settle().await;
        assert_eq!(read(&self.other).await, shown, "through the other handle");
        shown
    }

    /// Like [`settle`](Self::settle), for a task that may outlive the borrow.
    pub(super) fn settler(&self) -> Hook<(), ()> {
        Arc::clone(&self.hooks.settle)
    }

    /// Returns the name of the missing hook without which the behaviour observed nothing.
    pub(super) fn missed(&self) -> Option<&'static str> {
        self.hooks.missed.get().copied()
    }

    fn miss(&self, hook: &'static str) {
        self.hooks.missed.get_or_init(|| hook);
    }

    /// Makes stored values unreadable, and returns whether all are.
    pub(super) async fn damage(&self, values: impl IntoIterator<Item: Into<Damage>>) -> bool {
        let Some(damage) = &self.hooks.damage else {
            self.miss("damaging");
            return false;
        };
        for value in values {
            if !damage(value.into()).await {
                return false;
            }
        }
        self.settle().await;
        true
    }
}

/// The stored value to make unreadable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Damage {
    /// A record.
    Record(Key),
    /// Only the list in a user's grant.
    GuildList(UserId),
    /// A cluster's report.
    Report(ClusterId),
}

impl From<Key> for Damage {
    fn from(key: Key) -> Self {
        Self::Record(key)
    }
}

impl<P: ?Sized + Send + Sync + 'static> Fresh<P> {
    /// Starts a write while writes are blocked, and asserts that its first poll returns pending. Does nothing without
    /// the gating hook.
    pub(super) async fn waits_elsewhere<T>(&self, write: impl AsyncFnOnce(&P) -> T + Send + 'static) {
        let Some(close_gate) = &self.hooks.close_gate else { return self.miss("gating") };
        let gate = close_gate(()).await;
        let (store, runtime, (tell, told)) = (Arc::clone(&self.one), Handle::current(), oneshot::channel());
        // On its own thread: if it blocks, it blocks no other test code.
        let polling = spawn_blocking(move || {
            runtime.block_on(async {
                let mut write = pin!(write(&store));
                let is_pending = poll!(&mut write).is_pending();
                let _ = tell.send(is_pending);
                if is_pending {
                    write.await;
                }
            });
        });
        // A poll that hands its work over takes microseconds.
        let waiting = timeout(self.patience(), told).await;
        drop(gate);
        assert_eq!(waiting, Ok(Ok(true)), "the poll came back, and the write waits");
        assert!(polling.await.is_ok(), "it is made as soon as it can be");
    }
}
