//! Small sample values to store.

use async_trait::async_trait;
use companion_domain::{
    model::Member,
    port::{
        ApplyError, GrantContent, Numbered, Record, RecordSource, SignIns, SourceError, StoreError,
        StoreErrorKind,
    },
    session::{Session, TokenHash},
};
use companion_storage_diesel::DieselStorage;
use companion_testkit::world::{a_member, a_session, at};
use std::{num::NonZeroU32, ops::RangeInclusive, sync::Arc};
use tokio::sync::Notify;

pub(crate) use companion_testkit::{
    conformance::stream::{Collected, Stream},
    world::{NONE_ENDED, a_feedback as feedback, a_guild as guild, user_id as user},
};

pub(crate) const CAP: NonZeroU32 = NonZeroU32::new(10).unwrap();

/// Returns the [`StoreError`] of a failed operation.
pub(crate) fn failure<T: std::fmt::Debug>(result: Result<T, impl Into<ApplyError>>) -> StoreError {
    match result.map_err(Into::into) {
        Err(ApplyError::Store(error)) => error,
        other => panic!("{other:?}"),
    }
}

/// Returns the kind of the [`StoreError`] of a failed operation.
pub(crate) fn kind<T: std::fmt::Debug>(result: Result<T, impl Into<ApplyError>>) -> StoreErrorKind {
    failure(result).kind
}

pub(crate) fn session(number: u64) -> Session {
    let mut id = [0; 32];
    id[..8].copy_from_slice(&number.to_be_bytes());
    Session {
        id: TokenHash::from_bytes(id),
        user: user(number + 1),
        user_agent: None,
        ..a_session(0, 1, at(0))
    }
}

/// Signs a user in with the session of this number.
pub(crate) async fn sign_in(storage: &DieselStorage, number: u64) -> Result<Vec<Session>, StoreError> {
    storage.begin(&session(number), CAP, NONE_ENDED, &GrantContent::default()).await
}

/// Returns guilds with these numbers.
pub(crate) fn guilds(numbers: RangeInclusive<u64>) -> impl Iterator<Item = Record> {
    numbers.map(|number| Record::Guild(guild(number)))
}

pub(crate) fn member(guild: u64, number: u64) -> Member {
    a_member(guild, number, &[number])
}

/// A source that yields some records, signals `halted`, and ends after `proceed`.
pub(crate) struct Halting {
    batches: Vec<Vec<Numbered>>,
    pub(crate) halted: Arc<Notify>,
    pub(crate) proceed: Arc<Notify>,
}

impl Halting {
    pub(crate) fn new(records: impl Iterator<Item = Record>) -> Self {
        let numbered = (1..).zip(records).map(|(line, record)| Numbered { line, record }).collect();
        Self { batches: vec![numbered], halted: Arc::default(), proceed: Arc::default() }
    }
}

#[async_trait]
impl RecordSource for Halting {
    async fn next(&mut self) -> Result<Option<Vec<Numbered>>, SourceError> {
        if let Some(records) = self.batches.pop() {
            return Ok(Some(records));
        }
        self.halted.notify_one();
        self.proceed.notified().await;
        Ok(None)
    }
}
