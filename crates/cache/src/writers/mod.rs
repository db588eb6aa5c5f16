//! Ports that are read from the store itself: what decides whether someone is let in, or is shown to an operator. What is
//! written through them, copies are told before the answer.

mod grants;
mod sign_ins;

pub(crate) use self::sign_ins::ToldSignIns;

use crate::{copies::Copies, key::Key};
use std::sync::Arc;

/// A port, and the copies that depend on what is written through it.
pub(crate) struct Told<P: ?Sized> {
    pub(crate) inner: Arc<P>,
    pub(crate) copies: Arc<Copies>,
}

impl<P: ?Sized> Told<P> {
    pub(crate) fn new(inner: &Arc<P>, copies: &Arc<Copies>) -> Arc<Self> {
        Arc::new(Self { inner: Arc::clone(inner), copies: Arc::clone(copies) })
    }

    /// Writes, and tells the copies whatever came of it: after an error nobody may know.
    async fn telling<T>(
        &self,
        keys: impl IntoIterator<Item = Key> + Send,
        write: impl Future<Output = T> + Send,
    ) -> T {
        let written = write.await;
        self.copies.tell(keys);
        written
    }
}
