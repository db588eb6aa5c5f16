//! The connection to a store of sessions, and what can happen to it.

use crate::use_cases::Stage;
use async_trait::async_trait;
use companion_domain::{
    model::{Timestamp, UserId},
    port::{SessionStore, StoreError},
    session::{Cutoffs, Session, TokenHash, Uses},
    usecase::Authenticate,
};
use companion_storage_memory::MemoryStorage;
use companion_testkit::use_cases::{UseCases, settings};
use std::{
    mem,
    num::NonZeroU32,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
};

/// A store whose connection can be cut: whoever asks then gets an error.
pub(crate) struct Line {
    store: Arc<MemoryStorage>,
    cut: AtomicBool,
    read_only: AtomicBool,
    copy: Mutex<Option<Session>>,
    touched: Mutex<Vec<usize>>,
}

impl Line {
    fn to(store: &Arc<MemoryStorage>) -> Arc<Self> {
        Arc::new(Self {
            store: Arc::clone(store),
            cut: AtomicBool::new(false),
            read_only: AtomicBool::new(false),
            copy: Mutex::default(),
            touched: Mutex::default(),
        })
    }

    /// Nothing goes through, or everything again.
    pub(crate) fn cut(&self, cut: bool) {
        self.cut.store(cut, SeqCst);
    }

    /// Nothing can be written, or everything again.
    pub(crate) fn read_only(&self, read_only: bool) {
        self.read_only.store(read_only, SeqCst);
    }

    /// The first look-up finds an old copy.
    pub(crate) fn finds_first(&self, copy: Session) {
        *self.copy.lock().unwrap() = Some(copy);
    }

    /// How many sessions each touch was about, since this was last asked.
    pub(crate) fn touched(&self) -> Vec<usize> {
        mem::take(&mut self.touched.lock().unwrap())
    }

    fn store(&self) -> Result<&dyn SessionStore, StoreError> {
        if self.cut.load(SeqCst) { Err(StoreError::unavailable("cut")) } else { Ok(&*self.store) }
    }

    fn writable(&self) -> Result<&dyn SessionStore, StoreError> {
        if self.read_only.load(SeqCst) { Err(StoreError::unavailable("read-only")) } else { self.store() }
    }
}

#[async_trait]
impl SessionStore for Line {
    async fn create(
        &self,
        session: &Session,
        cap: NonZeroU32,
        ended: Cutoffs,
    ) -> Result<Vec<Session>, StoreError> {
        self.writable()?.create(session, cap, ended).await
    }

    async fn find(&self, id: &TokenHash) -> Result<Option<Session>, StoreError> {
        let copy = self.copy.lock().unwrap().take();
        if copy.is_some() {
            return Ok(copy);
        }
        self.store()?.find(id).await
    }

    async fn touch(&self, seen: Uses<'_>) -> Result<(), StoreError> {
        self.writable()?.touch(seen).await?;
        self.touched.lock().unwrap().push(seen.as_slice().len());
        Ok(())
    }

    async fn of_user(&self, user: UserId) -> Result<Vec<Session>, StoreError> {
        self.store()?.of_user(user).await
    }

    async fn revoke(&self, id: &TokenHash) -> Result<Option<Session>, StoreError> {
        self.writable()?.revoke(id).await
    }

    async fn expire(&self, id: &TokenHash, ended: Cutoffs) -> Result<Option<Session>, StoreError> {
        self.writable()?.expire(id, ended).await
    }

    async fn revoke_user(&self, user: UserId) -> Result<Vec<Session>, StoreError> {
        self.writable()?.revoke_user(user).await
    }

    async fn prune(&self, ended: Cutoffs, limit: NonZeroU32) -> Result<Vec<Session>, StoreError> {
        self.writable()?.prune(ended, limit).await
    }

    async fn rewind(&self, now: Timestamp, limit: NonZeroU32) -> Result<u64, StoreError> {
        self.writable()?.rewind(now, limit).await
    }
}

impl Stage {
    /// A node whose connection to the sessions can be cut.
    pub(crate) fn node_over_a_line(&self) -> (Arc<Authenticate>, Arc<Line>) {
        let line = Line::to(&self.memory.storage);
        let mut ports = self.memory.ports.clone();
        ports.stores.sessions = line.clone();
        (UseCases::new(&ports, settings()).authenticate, line)
    }
}
