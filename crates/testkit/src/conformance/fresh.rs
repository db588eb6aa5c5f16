//! The adapter under test.

use std::{any::Any, sync::Arc};

/// An adapter that nobody has used before, for one test.
///
/// Both handles lead to the same store. An adapter that several processes can share gives two that know nothing of
/// each other, such as two pools over one database; for any other they are the same handle twice.
pub struct Fresh<P: ?Sized> {
    /// The adapter.
    pub one: Arc<P>,
    /// The same store through another handle.
    pub other: Arc<P>,
    kept: Vec<Box<dyn Any + Send + Sync>>,
}

impl<P: ?Sized> Fresh<P> {
    /// An adapter with a single handle.
    #[must_use]
    pub fn new(adapter: Arc<P>) -> Self {
        Self { other: Arc::clone(&adapter), one: adapter, kept: Vec::new() }
    }

    /// Adds a second handle to the same store.
    #[must_use]
    pub fn with_other(self, other: Arc<P>) -> Self {
        Self { other, ..self }
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
        Fresh { one: Arc::clone(part(&self.one)), other: Arc::clone(part(&self.other)), kept: self.kept }
    }
}
