//! The contract of a [`Scheduler`].

use super::{Fresh, sample::LOTS};
use companion_domain::port::Scheduler;
use std::{pin::pin, sync::Arc, time::Duration};
use tokio::{
    sync::{Barrier, oneshot},
    time::Instant,
};

suite! {
    /// Generates one test per behaviour of a `Scheduler`.
    scheduler_conformance($): scheduler, dyn Scheduler;
    tasks_outlive_their_starter,
    a_pause_lasts_its_length,
    finish_waits_for_tasks_up_to_its_timeout,
    tasks_run_concurrently,
    finish_waits_for_tasks_started_by_tasks,
}

/// Returns a task that ends on a signal and signals its end.
fn gated() -> (oneshot::Sender<()>, oneshot::Receiver<()>, impl Future<Output = ()> + Send + 'static) {
    let (open, gate) = oneshot::channel();
    let (done, ended) = oneshot::channel();
    let work = async move {
        let _ = gate.await;
        let _ = done.send(());
    };
    (open, ended, work)
}

async fn tasks_outlive_their_starter(fresh: &Fresh<Port>) {
    let (open, ended, work) = gated();
    let scheduler = Arc::clone(&fresh.one);
    let (tell, started) = oneshot::channel();
    let starter = tokio::spawn(async move {
        scheduler.start(Box::pin(work));
        let _ = tell.send(());
        std::future::pending::<()>().await;
    });
    started.await.unwrap();
    starter.abort();
    assert!(starter.await.is_err());
    open.send(()).unwrap();
    ended.await.unwrap();
}

async fn a_pause_lasts_its_length(fresh: &Fresh<Port>) {
    let (began, length) = (Instant::now(), Duration::from_millis(20));
    fresh.one.pause(length).await;
    assert!(began.elapsed() >= length);
}

async fn finish_waits_for_tasks_up_to_its_timeout(fresh: &Fresh<Port>) {
    let (open, mut ended, work) = gated();
    fresh.one.start(Box::pin(work));
    fresh.one.finish(Duration::from_millis(10)).await;
    assert!(ended.try_recv().is_err(), "it cannot have ended");
    open.send(()).unwrap();
    fresh.one.finish(Duration::from_secs(60)).await;
    assert_eq!(ended.try_recv(), Ok(()));
}

async fn tasks_run_concurrently(fresh: &Fresh<Port>) {
    // Each continues once all have begun, so none may wait for its turn.
    let all = Arc::new(Barrier::new(usize::try_from(LOTS).unwrap() + 1));
    for _ in 0..LOTS {
        let all = Arc::clone(&all);
        fresh.one.start(Box::pin(async move {
            all.wait().await;
        }));
    }
    tokio::time::timeout(fresh.patience(), all.wait()).await.unwrap();
}

async fn finish_waits_for_tasks_started_by_tasks(fresh: &Fresh<Port>) {
    let (open, passed_on, first) = gated();
    let (open_second, mut ended, second) = gated();
    let scheduler = Arc::clone(&fresh.one);
    fresh.one.start(Box::pin(async move {
        first.await;
        scheduler.start(Box::pin(second));
    }));
    let mut end = pin!(fresh.one.finish(Duration::from_secs(60)));
    open.send(()).unwrap();
    passed_on.await.unwrap();
    // Long enough to notice that the first has ended.
    for _ in 0..10_000 {
        tokio::select! {
            biased;
            () = &mut end => panic!("a task that a task started is still waiting"),
            () = tokio::task::yield_now() => {}
        }
    }
    open_second.send(()).unwrap();
    end.await;
    assert_eq!(ended.try_recv(), Ok(()));
}
