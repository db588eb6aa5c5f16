//! Requests that the server was given before it had begun to answer them.

use std::{
    cell::Cell,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    task::Waker,
};

/// How many there may be on one connection.
pub(super) const MAX_AHEAD: usize = 16;
/// Where there are so many on all connections together, each has to do with few.
pub(super) const MANY: usize = 1024;
pub(super) const FEW_AHEAD: usize = 2;

/// Those of one connection.
#[derive(Default)]
pub(super) struct ReadAhead {
    here: Cell<usize>,
    /// How many of them count for all connections together. Most clients send one request after the other, and count for none.
    counted: Cell<usize>,
    in_all: Arc<AtomicUsize>,
    /// Whoever waits to hand over more.
    reader: Cell<Option<Waker>>,
}

impl ReadAhead {
    pub(super) fn new(in_all: &Arc<AtomicUsize>) -> Self {
        let (here, counted, reader) = Default::default();
        Self { here, counted, in_all: Arc::clone(in_all), reader }
    }

    /// How many more there may be. Where there is no room, whoever asks is woken when there is; and at once where it is
    /// `doubtful` whether those before were requests at all: if nobody has begun with one of them by then, they were none.
    pub(super) fn room(&self, doubtful: bool, waker: &Waker) -> Option<usize> {
        let most = if self.in_all.load(Relaxed) < MANY { MAX_AHEAD } else { FEW_AHEAD };
        if self.here.get() >= most {
            let waited = self.reader.take().is_some();
            if !(waited && doubtful) {
                self.reader.set(Some(waker.clone()));
                if doubtful {
                    waker.wake_by_ref();
                }
                return None;
            }
            self.forget();
        }
        Some(most - self.here.get())
    }

    pub(super) fn add(&self, requests: usize) {
        self.here.set(self.here.get() + requests);
        if requests > 1 {
            self.counted.set(self.counted.get() + requests);
            self.in_all.fetch_add(requests, Relaxed);
        }
    }

    /// One of them is being answered.
    pub(super) fn begin_one(&self) {
        self.here.set(self.here.get().saturating_sub(1));
        if self.counted.get() > 0 {
            self.counted.set(self.counted.get() - 1);
            self.in_all.fetch_sub(1, Relaxed);
        }
    }

    /// They were no requests.
    pub(super) fn forget(&self) {
        self.here.set(0);
        let counted = self.counted.take();
        if counted > 0 {
            self.in_all.fetch_sub(counted, Relaxed);
        }
    }

    /// There may be room again.
    pub(super) fn wake_reader(&self) {
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
    }
}

impl Drop for ReadAhead {
    fn drop(&mut self) {
        self.forget();
    }
}
