//! Work on the thread that polls.

use super::Fresh;
use std::{
    pin::pin,
    sync::{Arc, mpsc},
    task::{Context, Waker},
    thread,
};
use tokio::runtime::Builder;

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
