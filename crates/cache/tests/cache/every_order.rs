//! Runs tasks in every order that their suspension points allow, or in those with few preemptions. Also wraps stores
//! so that they suspend after every operation and before the caller sees the result.

use async_trait::async_trait;
use companion_domain::{
    change::Revision,
    port::{ChangeFeed, Listings, Records, Scheduler, SessionStore, SignIns, StoreError, Stores, Work},
};
use companion_testkit::over::{
    ChangeFeedOver, ListingsOver, Over, RecordsOver, SessionStoreOver, SignInsOver,
};
use std::{
    cell::RefCell,
    pin::Pin,
    rc::Rc,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    task::{Context, Wake, Waker},
    time::Duration,
};
use tokio::task::yield_now;

/// A task of one run.
pub(crate) type Task = Pin<Box<dyn Future<Output = ()>>>;

/// Collects the tasks of one run, started by the scenario or by the code under test.
#[derive(Clone, Default)]
pub(crate) struct Tasks {
    local: Rc<RefCell<Vec<Task>>>,
    started: Arc<Started>,
}

impl Tasks {
    /// Adds a task, which is interleaved with the others.
    pub(crate) fn add(&self, task: impl Future<Output = ()> + 'static) {
        self.local.borrow_mut().push(Box::pin(task));
    }

    /// Returns a scheduler whose work becomes tasks of the run.
    pub(crate) fn scheduler(&self) -> Arc<dyn Scheduler> {
        self.started.clone()
    }
}

#[derive(Default)]
struct Started(Mutex<Vec<Work>>);

#[async_trait]
impl Scheduler for Started {
    fn start(&self, work: Work) {
        self.0.lock().unwrap().push(work);
    }

    /// Never ends: time does not pass in a run.
    async fn pause(&self, _: Duration) {
        std::future::pending::<()>().await;
    }

    async fn finish(&self, _: Duration) {}
}

struct Ready(AtomicBool);

impl Wake for Ready {
    fn wake(self: Arc<Self>) {
        self.0.store(true, SeqCst);
    }
}

/// Runs the scenario once for every order of its steps with at most `preemptions` preemptions. Returns the number of
/// runs. A task is preempted if another one runs while it is ready. The task that the scenario returns runs when all
/// others are done.
pub(crate) fn in_every_order(preemptions: usize, scenario: impl Fn(&Tasks) -> Task) -> usize {
    let (mut plan, mut runs) = (Vec::new(), 0);
    loop {
        let tasks = Tasks::default();
        let last = scenario(&tasks);
        let mut taken = run(&tasks, last, &plan, preemptions);
        runs += 1;
        // The last decision with another choice left is taken differently in the next run.
        loop {
            match taken.pop() {
                None => return runs,
                Some((choice, choices)) if choice + 1 < choices => {
                    plan = taken.iter().map(|(choice, _)| *choice).chain([choice + 1]).collect();
                    break;
                }
                Some(_) => {}
            }
        }
    }
}

/// Runs the scenario once. Follows `plan` as far as it goes, then takes the first choice each time. Returns the
/// choices made, each with the number of alternatives.
fn run(tasks: &Tasks, last: Task, plan: &[usize], mut preemptions: usize) -> Vec<(usize, usize)> {
    let mut running: Vec<(Task, Arc<Ready>)> = Vec::new();
    let mut current: Option<Arc<Ready>> = None;
    let (mut taken, mut last) = (Vec::new(), Some(last));
    loop {
        let started: Vec<Work> = std::mem::take(&mut *tasks.started.0.lock().unwrap());
        let added = tasks.local.borrow_mut().drain(..).collect::<Vec<_>>();
        let ready = || Arc::new(Ready(AtomicBool::new(true)));
        running.extend(added.into_iter().map(|task| (task, ready())));
        running.extend(started.into_iter().map(|work| (work as Task, ready())));
        let mut able: Vec<_> = (0..running.len()).filter(|index| running[*index].1.0.load(SeqCst)).collect();
        if able.is_empty() {
            assert!(running.is_empty(), "{} tasks wait for each other after {taken:?}", running.len());
            let Some(last) = last.take() else { return taken };
            tasks.local.borrow_mut().push(last);
            continue;
        }
        let is_current =
            |index: &usize| current.as_ref().is_some_and(|ready| Arc::ptr_eq(ready, &running[*index].1));
        let able_to_go_on = able.iter().copied().find(is_current);
        // The order of the last task and of what it starts does not matter.
        if last.is_none() {
            able.truncate(1);
        } else if let Some(current) = able_to_go_on.filter(|_| preemptions == 0) {
            able = vec![current];
        }
        let choice = plan.get(taken.len()).copied().unwrap_or(0);
        taken.push((choice, able.len()));
        let next = able[choice];
        if last.is_some() && able_to_go_on.is_some_and(|current| current != next) {
            preemptions -= 1;
        }
        let (task, ready) = &mut running[next];
        ready.0.store(false, SeqCst);
        let waker = Waker::from(Arc::clone(ready));
        current = Some(Arc::clone(ready));
        if task.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
            drop(running.swap_remove(next));
        }
    }
}

#[test]
fn runs_each_order_with_few_preemptions_once() {
    for (preemptions, expected) in
        [(usize::MAX, "aabb abab abba baab baba bbaa"), (1, "aabb abba baab bbaa"), (0, "aabb bbaa")]
    {
        let orders: Rc<RefCell<Vec<String>>> = Rc::default();
        let runs = in_every_order(preemptions, |tasks| {
            let order = Rc::new(RefCell::new(String::new()));
            for name in ["a", "b"] {
                let order = order.clone();
                tasks.add(async move {
                    order.borrow_mut().push_str(name);
                    yield_now().await;
                    order.borrow_mut().push_str(name);
                });
            }
            let orders = orders.clone();
            Box::pin(async move { orders.borrow_mut().push(order.take()) })
        });
        let mut orders = orders.take();
        orders.sort();
        assert_eq!((runs, orders.join(" ").as_str()), (orders.len(), expected));
    }
}

/// A port that suspends after every operation.
struct Stepped<P: ?Sized>(Arc<P>);

/// Wraps the ports that the cache reads or is invalidated by.
pub(crate) fn stepped(stores: &Stores) -> Stores {
    let mut stepped = stores.clone();
    stepped.changes = Arc::new(Over(Stepped(stores.changes.clone())));
    stepped.records = Arc::new(Over(Stepped(stores.records.clone())));
    stepped.sessions = Arc::new(Over(Stepped(stores.sessions.clone())));
    stepped.sign_ins = Arc::new(Over(Stepped(stores.sign_ins.clone())));
    stepped.stored_listings = Arc::new(Over(Stepped(stores.stored_listings.clone())));
    stepped
}

macro_rules! stepped {
    ($($over:ident by $inner:ident: $port:ident { $($more:tt)* })+) => {$(
        #[async_trait]
        impl $over for Stepped<dyn $port> {
            fn $inner(&self) -> &dyn $port {
                &*self.0
            }

            async fn after(&self) {
                yield_now().await;
            }

            $($more)*
        }
    )+};
}

stepped! {
    ChangeFeedOver by changes: ChangeFeed {
        async fn latest(&self) -> Result<Revision, StoreError> {
            self.0.latest().await
        }
    }
    ListingsOver by listings: Listings {}
    RecordsOver by records: Records {}
    SessionStoreOver by sessions: SessionStore {}
    SignInsOver by sign_ins: SignIns {}
}
