//! Requests that were read before those in front of them were answered, counted over all connections.

use std::{
    cell::Cell,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

/// Where so many were read ahead in all, each connection has to do with few.
pub(super) const MANY: usize = 1024;

/// What one connection adds to the count. Most clients send one request after the other, and add nothing.
#[derive(Default)]
pub(super) struct ReadAhead {
    own: Cell<usize>,
    in_all: Arc<AtomicUsize>,
}

impl ReadAhead {
    pub(super) fn new(in_all: &Arc<AtomicUsize>) -> Self {
        Self { own: Cell::default(), in_all: Arc::clone(in_all) }
    }

    pub(super) fn are_many(&self) -> bool {
        self.in_all.load(Relaxed) >= MANY
    }

    pub(super) fn add(&self, requests: usize) {
        self.own.set(self.own.get() + requests);
        self.in_all.fetch_add(requests, Relaxed);
    }

    /// One of them is being answered, where any were counted.
    pub(super) fn begin_one(&self) {
        if self.own.get() > 0 {
            self.own.set(self.own.get() - 1);
            self.in_all.fetch_sub(1, Relaxed);
        }
    }

    /// Those that were counted are none.
    pub(super) fn forget(&self) {
        let own = self.own.take();
        if own > 0 {
            self.in_all.fetch_sub(own, Relaxed);
        }
    }
}

impl Drop for ReadAhead {
    fn drop(&mut self) {
        self.forget();
    }
}
