//! Sample values to store, generated on demand.

use async_trait::async_trait;
use companion_domain::{
    model::{Guild, RoleBindings, RoleKey, Timestamp},
    port::{
        Entropy as _, GrantContent, Numbered, Record, RecordSource, SignIns as _, SourceError, StoreError,
    },
    session::{Session, TokenHash},
};
use companion_storage_diesel::DieselStorage;
use companion_testkit::{
    entropy::SeededEntropy,
    world::{NONE_ENDED, a_guild, a_session, name, roles, user_id},
};
use std::num::NonZeroU32;

pub(crate) fn guild(number: u64, edition: u64) -> Guild {
    let role = |other: u64| roles(&[number + 1_000_000_000_000, 1_000_000_000_000 + other]);
    Guild {
        name: name(&format!("Guild number {number}, edition {edition}")),
        owner: user_id(number + 1),
        bindings: RoleBindings::new([(RoleKey::Mod, role(1)), (RoleKey::Admin, role(2))]),
        ..a_guild((number + 1) << 22)
    }
}

/// Generates records while they are read, so that memory figures show only the storage.
pub(crate) struct Made<I>(pub(crate) std::iter::Enumerate<I>);

#[async_trait]
impl<I: Iterator<Item = Record> + Send> RecordSource for Made<I> {
    async fn next(&mut self) -> Result<Option<Vec<Numbered>>, SourceError> {
        let numbered = |(place, record)| Numbered { line: place as u64 + 1, record };
        let batch: Vec<_> = self.0.by_ref().take(500).map(numbered).collect();
        Ok((!batch.is_empty()).then_some(batch))
    }
}

pub(crate) async fn sign_in(
    storage: &DieselStorage,
    chance: &SeededEntropy,
    number: u64,
) -> Result<(), StoreError> {
    let id = TokenHash::from_bytes(*chance.draw());
    let session = Session { id, ..a_session(0, number + 1, Timestamp::EPOCH) };
    let cap = const { NonZeroU32::new(10).unwrap() };
    storage.begin(&session, cap, NONE_ENDED, &GrantContent::default()).await.map(drop)
}
