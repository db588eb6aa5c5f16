//! Ports that are read from the store itself: what decides whether someone is let in, or is shown to an operator. What is
//! written through them, copies are told before the answer.

mod grants;
mod sign_ins;

pub(crate) use self::sign_ins::InvalidatingSignIns;

use crate::{entries::Entries, key::Key};
use std::sync::Arc;

/// A port, and the copies that depend on what is written through it.
pub(crate) struct Invalidating<P: ?Sized> {
    pub(crate) inner: Arc<P>,
    pub(crate) entries: Arc<Entries>,
}

impl<P: ?Sized> Invalidating<P> {
    pub(crate) fn new(inner: &Arc<P>, entries: &Arc<Entries>) -> Arc<Self> {
        Arc::new(Self { inner: Arc::clone(inner), entries: Arc::clone(entries) })
    }

    /// Writes, and tells the copies whatever came of it: after an error nobody may know.
    async fn invalidating<T>(
        &self,
        keys: impl IntoIterator<Item = Key> + Send,
        write: impl Future<Output = T> + Send,
    ) -> T {
        let written = write.await;
        self.entries.invalidate(keys);
        written
    }
}
