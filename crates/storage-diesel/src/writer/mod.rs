//! Writes: jobs for a thread, which commits what is waiting in one transaction.
//!
//! While one commit is on its way to the disk, the next jobs gather; so the busier the store, the more writes share a
//! sync. Each job has a savepoint of its own and fails alone. A job is answered after the commit that holds it.
//!
//! An embedded database has one such thread. On a server there are two: one for all that a sync of the bot's may hold up,
//! and one for what it must not.

mod commit;
mod condition;
mod job;
mod thread;
mod turn;
mod write;

pub(crate) use self::{
    turn::{CheckpointDuty, End, Turn},
    write::Write,
};

use self::{
    condition::Condition,
    job::{Answer, Interruption, Job, Task},
    thread::Thread,
};
use crate::{connection::Access, database::Database, failure::Failure, latest::LatestRevision};
use companion_domain::port::{Cause, StoreError, StoreErrorKind};
use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    time::Instant,
};
use tokio::sync::{
    mpsc::{self, error::TrySendError},
    watch,
};

/// The way to those who write.
pub(crate) struct Writer {
    database: Arc<Database>,
    shared: Arc<Shared>,
    /// Writes everything.
    all: Queue,
    /// Writes what is urgent, where that need not wait for the rest.
    urgent: Option<Queue>,
}

/// The way to one thread that writes.
struct Queue {
    jobs: mpsc::Sender<Message>,
    /// Closes when the thread has ended.
    running: watch::Receiver<()>,
    desk: Arc<Desk>,
}

/// What a thread that writes finds, and leaves to the next should a server keep it for ever.
struct Desk {
    database: Arc<Database>,
    access: Access,
    queue: Mutex<mpsc::Receiver<Message>>,
    post: Mutex<Post>,
}

/// Which thread writes, and what it is at.
struct Post {
    /// Counts the threads that have had it.
    holder: u64,
    /// Since when the holder has been busy with one transaction.
    busy: Option<Instant>,
    /// Dropped when the last thread ends.
    alive: Option<watch::Sender<()>>,
}

impl Desk {
    fn post(&self) -> MutexGuard<'_, Post> {
        self.post.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

enum Message {
    Job(Box<dyn Job>),
    /// Something that writes on another connection, and must not do so while this thread does.
    #[cfg_attr(not(feature = "sqlite"), expect(dead_code, reason = "a server has a lock of its own"))]
    Apart(Box<dyn FnOnce() + Send>),
    /// Finish what is waiting, then end.
    Close,
}

/// What the thread shares with everyone else.
pub(crate) struct Shared {
    pub(crate) commits: AtomicU64,
    pub(crate) writes: AtomicU64,
    pub(crate) failed_commits: AtomicU64,
    pub(crate) refused_writes: AtomicU64,
    pub(crate) given_up: AtomicBool,
    pub(crate) condition: Condition,
    /// How many others see to it that the log does not grow.
    checkpointers: AtomicUsize,
    pub(crate) latest: LatestRevision,
}

impl Shared {
    /// Notes that a transaction came to nothing.
    fn interrupted(&self, interruption: &Interruption) {
        self.failed_commits.fetch_add(1, Relaxed);
        if !interruption.passing {
            self.condition.note(Err(interruption.reason.clone()));
        }
    }

    /// Why nothing may be written, whatever it is.
    fn refusal(&self) -> Option<Interruption> {
        self.given_up.load(Relaxed).then(|| Interruption {
            kind: StoreErrorKind::Unavailable,
            passing: false,
            reason: "an earlier commit did not reach the disk, so nothing is written until a restart"
                .to_owned(),
            certain: true,
        })
    }
}

impl Queue {
    /// Starts a thread, with its connection open.
    fn start(database: &Arc<Database>, shared: &Arc<Shared>, access: Access) -> Result<Self, Cause> {
        let (jobs, queue) = mpsc::channel(database.limits().queue.get());
        let (alive, running) = watch::channel(());
        let connection = database.connect_writer()?;
        let desk = Arc::new(Desk {
            database: Arc::clone(database),
            access,
            queue: Mutex::new(queue),
            post: Mutex::new(Post { holder: 0, busy: None, alive: Some(alive) }),
        });
        Thread::start(&desk, shared, 0, Some(connection))?;
        Ok(Self { jobs, running, desk })
    }

    /// Finishes what is waiting, refuses what comes later, and returns when the thread has ended.
    async fn close(&self) {
        let _ = self.jobs.send(Message::Close).await;
        let mut running = self.running.clone();
        while running.changed().await.is_ok() {}
    }
}

impl Writer {
    /// Starts the threads, with their connections open.
    pub(crate) fn start(database: &Arc<Database>) -> Result<Self, Cause> {
        let shared = Arc::new(Shared {
            commits: AtomicU64::new(0),
            writes: AtomicU64::new(0),
            failed_commits: AtomicU64::new(0),
            refused_writes: AtomicU64::new(0),
            given_up: AtomicBool::new(false),
            condition: Condition::default(),
            checkpointers: AtomicUsize::new(0),
            latest: LatestRevision::new(),
        });
        let all = Queue::start(database, &shared, Access::All)?;
        let urgent = match &**database {
            #[cfg(feature = "sqlite")]
            Database::Sqlite(_) => None,
            #[cfg(feature = "postgres")]
            Database::Postgres(_) => Some(Queue::start(database, &shared, Access::Urgent)?),
        };
        Ok(Self { database: Arc::clone(database), shared, all, urgent })
    }

    fn queue(&self, access: Access) -> &Queue {
        match access {
            Access::All | Access::World => &self.all,
            Access::Urgent => self.urgent.as_ref().unwrap_or(&self.all),
        }
    }

    /// Lets another thread take over from one that has been at one transaction for so long that its server must have
    /// gone silent. Should that thread ever come back, it finishes what it has in hand and leaves; where several nodes
    /// may write, two threads may as well.
    pub(crate) fn relieve(&self, access: Access) {
        let (desk, limits) = (&self.queue(access).desk, self.database.limits());
        let mut post = desk.post();
        let silent = |since: Instant| limits.deadline.is_some_and(|deadline| since.elapsed() >= deadline);
        if post.busy.is_some_and(silent) {
            let started = Thread::start(desk, &self.shared, post.holder + 1, None);
            if started.is_ok() {
                post.holder += 1;
                post.busy = None;
                tracing::warn!(
                    "the database has gone silent in the middle of a write: writing on another connection"
                );
            }
        }
    }

    /// Hands a job over. It is done whole or not at all, whether or not anyone waits for the answer.
    pub(crate) fn submit<T, F>(&self, access: Access, work: F) -> Result<Answer<T>, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&mut Write<'_>) -> Result<T, Failure> + Send + 'static,
    {
        let (task, answer) = Task::new(work);
        match self.queue(access).jobs.try_send(Message::Job(Box::new(task))) {
            Ok(()) => Ok(answer),
            Err(TrySendError::Full(_)) => {
                self.shared.refused_writes.fetch_add(1, Relaxed);
                Err(StoreError::unavailable("too many writes are waiting"))
            }
            Err(TrySendError::Closed(_)) => Err(StoreError::unavailable("the storage was closed")),
        }
    }

    /// Finishes what is waiting, refuses what comes later, and returns when the threads have ended.
    pub(crate) async fn close(&self) {
        for queue in self.queues() {
            queue.close().await;
        }
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// How many writes are waiting, and how many could.
    pub(crate) fn waiting(&self) -> (usize, usize) {
        let of = |queue: &Queue| {
            let capacity = queue.jobs.max_capacity();
            (capacity - queue.jobs.capacity(), capacity)
        };
        self.queues()
            .map(of)
            .fold((0, 0), |(one, many), (waiting, capacity)| (one + waiting, many + capacity))
    }

    fn queues(&self) -> impl Iterator<Item = &Queue> {
        std::iter::once(&self.all).chain(&self.urgent)
    }
}
