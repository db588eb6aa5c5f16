//! Ports whose reads bypass the cache, because they decide about access or are shown to an operator. Their writes
//! invalidate entries before they return.

mod grants;
mod sign_ins;

pub(crate) use self::sign_ins::InvalidatingSignIns;

use crate::{entries::Entries, key::Key};
use std::sync::Arc;

/// A port, and the entries that depend on what is written through it.
pub(crate) struct Invalidating<P: ?Sized> {
    pub(crate) inner: Arc<P>,
    pub(crate) entries: Arc<Entries>,
}

impl<P: ?Sized> Invalidating<P> {
    pub(crate) fn new(inner: &Arc<P>, entries: &Arc<Entries>) -> Arc<Self> {
        Arc::new(Self { inner: Arc::clone(inner), entries: Arc::clone(entries) })
    }

    /// Writes, then invalidates these keys. Also after an error, since the write may have been committed.
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
