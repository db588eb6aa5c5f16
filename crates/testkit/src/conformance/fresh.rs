//! The adapter under test, what its author lets a suite do, and what is stored but cannot be read.

use companion_domain::{
    model::{ClusterId, FeedbackId, GuildId, UserId},
    session::TokenHash,
};
use futures_util::future::BoxFuture;
use std::{
    any::Any,
    fmt,
    pin::pin,
    sync::{Arc, OnceLock, mpsc},
    task::{Context, Waker},
    thread,
    time::Duration,
};
use tokio::runtime::Builder;

/// An adapter that nobody has used before, for one test.
///
/// Both handles lead to the same store. An adapter that several processes can share gives two that know nothing of
/// each other, such as two pools over one database; for any other they are the same handle twice.
pub struct Fresh<P: ?Sized> {
    /// The adapter.
    pub one: Arc<P>,
    /// The same store through another handle.
    pub other: Arc<P>,
    hooks: Hooks,
    kept: Vec<Box<dyn Any + Send + Sync>>,
}

/// How long a behaviour waits for what takes microseconds, unless the author says otherwise.
const PATIENCE: Duration = Duration::from_secs(5);

/// What only the adapter's author can do.
#[derive(Clone, Default)]
struct Hooks {
    patience: Option<Duration>,
    settle: Settle,
    close_gate: Option<Hook<(), Gate>>,
    damage: Option<Hook<Damage, bool>>,
    /// What was wanted and is not there.
    missed: Arc<OnceLock<Needs>>,
}

/// A hook without which a behaviour has nothing to look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// [`Fresh::gating`].
    Gating,
    /// [`Fresh::damaging`].
    Damaging,
}

impl fmt::Display for Needs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gating => "gating",
            Self::Damaging => "damaging",
        })
    }
}

type Hook<A, T> = Arc<dyn Fn(A) -> BoxFuture<'static, T> + Send + Sync>;

/// Keeps writes from being made for as long as it exists.
pub type Gate = Box<dyn Any + Send>;

/// Brings every handle up to date, where the adapter needs that.
#[derive(Clone, Default)]
pub(super) struct Settle(Option<Hook<(), ()>>);

impl Settle {
    pub(super) async fn settle(&self) {
        if let Self(Some(settle)) = self {
            settle(()).await;
        }
    }
}

impl<P: ?Sized> Fresh<P> {
    /// An adapter with a single handle.
    #[must_use]
    pub fn new(adapter: Arc<P>) -> Self {
        Self { other: Arc::clone(&adapter), one: adapter, hooks: Hooks::default(), kept: Vec::new() }
    }

    /// Adds a second handle to the same store.
    #[must_use]
    pub fn with_other(self, other: Arc<P>) -> Self {
        Self { other, ..self }
    }

    /// Says how a caching decorator is brought up to date: when this is done, each handle shows what was written through
    /// the other, as it would a second later by itself. A store needs none of it.
    #[must_use]
    pub fn settling<F>(mut self, settle: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.hooks.settle = Settle(Some(Arc::new(move |()| Box::pin(settle()))));
        self
    }

    /// Says how writes are kept from being made, for instance by holding the database's own write lock until the
    /// [`Gate`] is dropped. With it the suites see that a write waits elsewhere than on the thread that polls it.
    #[must_use]
    pub fn gating<F>(mut self, close_gate: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Gate> + Send + 'static,
    {
        self.hooks.close_gate = Some(Arc::new(move |()| Box::pin(close_gate())));
        self
    }

    /// Says how something that is stored is damaged, so that it is no value of the domain any more; false where that
    /// cannot be. With it the suites see that whatever cannot be read costs itself and nothing else.
    #[must_use]
    pub fn damaging<F>(mut self, damage: impl Fn(Damage) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = bool> + Send + 'static,
    {
        self.hooks.damage = Some(Arc::new(move |what| Box::pin(damage(what))));
        self
    }

    /// Says how long a behaviour waits before it takes the adapter for blocked. Who expects a failure need not wait long.
    #[must_use]
    pub fn giving_up_after(mut self, patience: Duration) -> Self {
        self.hooks.patience = Some(patience);
        self
    }

    /// How long to wait before the adapter counts as blocked.
    pub(super) fn patience(&self) -> Duration {
        self.hooks.patience.unwrap_or(PATIENCE)
    }

    /// Keeps something alive until the test is over, such as the folder that the adapter writes to.
    #[must_use]
    pub fn keeping(mut self, guard: impl Any + Send + Sync) -> Self {
        self.kept.push(Box::new(guard));
        self
    }

    /// One part of the adapter, for the suite of a single port.
    #[must_use]
    pub fn port<Q: ?Sized>(self, part: impl Fn(&P) -> &Arc<Q>) -> Fresh<Q> {
        let Self { one, other, hooks, kept } = self;
        Fresh { one: Arc::clone(part(&one)), other: Arc::clone(part(&other)), hooks, kept }
    }

    /// Comes between a write through one handle and a read through another. What was written through a handle is seen
    /// through it without this, and the outcome of a write never depends on it.
    pub async fn settle(&self) {
        self.hooks.settle.settle().await;
    }

    /// Checks what both handles show of what was written through the first: that one at once, the other when it has
    /// caught up.
    pub(super) async fn through_both(&self, check: impl AsyncFn(&Arc<P>)) {
        check(&self.one).await;
        self.settle().await;
        check(&self.other).await;
    }

    /// [`settle`](Self::settle) for a task that may outlive the borrow.
    pub(super) fn settler(&self) -> Settle {
        self.hooks.settle.clone()
    }

    /// Whether the author said how.
    pub(super) fn has(&self, needs: Needs) -> bool {
        match needs {
            Needs::Gating => self.hooks.close_gate.is_some(),
            Needs::Damaging => self.hooks.damage.is_some(),
        }
    }

    /// What a behaviour wanted, and the author did not say how.
    pub(super) fn missed(&self) -> Option<Needs> {
        self.hooks.missed.get().copied()
    }

    fn miss(&self, needs: Needs) {
        self.hooks.missed.get_or_init(|| needs);
    }

    /// Keeps writes from being made, where the author said how.
    pub(super) async fn close_gate(&self) -> Option<Gate> {
        let Some(close_gate) = &self.hooks.close_gate else {
            self.miss(Needs::Gating);
            return None;
        };
        Some(close_gate(()).await)
    }

    /// Damages what is stored, and says whether it is damaged now.
    pub(super) async fn damage(&self, what: Damage) -> bool {
        let damaged = match &self.hooks.damage {
            Some(damage) => damage(what).await,
            None => {
                self.miss(Needs::Damaging);
                false
            }
        };
        self.settle().await;
        damaged
    }
}

/// What is to be damaged. It is stored when the author is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Damage {
    /// A session.
    Session(TokenHash),
    /// A user's grant, of which nothing can be read.
    Grant(UserId),
    /// The list in a user's grant alone.
    GuildList(UserId),
    /// A guild.
    Guild(GuildId),
    /// A member's roles.
    Member(GuildId, UserId),
    /// A user's subscription.
    Subscription(UserId),
    /// What a user was granted by name.
    Staff(UserId),
    /// An entry of feedback.
    Feedback(FeedbackId),
    /// A user's places in the team.
    TeamMember(UserId),
    /// A cluster's report.
    Cluster(ClusterId),
}

impl<P: ?Sized + Send + Sync + 'static> Fresh<P> {
    /// Begins a write while none can be made, and sees that its first poll comes back and leaves it waiting. Does nothing
    /// where the author of the adapter has not said how to keep writes from being made.
    pub(super) async fn waits_elsewhere<T>(&self, write: impl AsyncFnOnce(&P) -> T + Send + 'static) {
        let Some(gate) = self.close_gate().await else { return };
        let (store, (tell, told)) = (Arc::clone(&self.one), mpsc::channel());
        // A thread of its own with a runtime of its own: if it blocks, nobody else does.
        let polling = thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let mut write = pin!(write(&store));
                let first = write.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                let _ = tell.send(first.is_pending());
                if first.is_pending() {
                    write.await;
                }
            });
        });
        // A poll that hands its work over takes microseconds.
        let patience = self.patience();
        let waiting = tokio::task::spawn_blocking(move || told.recv_timeout(patience)).await.unwrap();
        drop(gate);
        let ended = tokio::task::spawn_blocking(move || polling.join()).await.unwrap();
        assert_eq!(waiting, Ok(true), "the poll came back, and the write waits");
        assert!(ended.is_ok(), "it is made as soon as it can be");
    }
}
