//! Sample values to store, generated on demand.

use async_trait::async_trait;
use companion_domain::{
    model::{Guild, GuildId, MemberCount, RoleBindings, RoleId, RoleKey, RoleSet, Timestamp, UserId},
    port::{Entropy, Numbered, Record, RecordSource, SessionStore, SourceError, StoreError},
    session::{Cutoffs, Session, TokenHash},
};
use companion_storage_diesel::DieselStorage;
use companion_testkit::entropy::SeededEntropy;
use std::num::NonZeroU32;

pub(crate) fn user(number: u64) -> UserId {
    UserId::new(number + 1).unwrap()
}

fn roles(numbers: [u64; 2]) -> RoleSet {
    RoleSet::new(numbers.map(|number| RoleId::new(number + 1_000_000_000_000).unwrap()).to_vec()).unwrap()
}

pub(crate) fn guild(number: u64, edition: u64) -> Guild {
    Guild {
        id: GuildId::new((number + 1) << 22).unwrap(),
        name: format!("Guild number {number}, edition {edition}").parse().unwrap(),
        icon: Some(format!("https://pictures.example/icons/{number}.png").parse().unwrap()),
        members: MemberCount::new(number % 10_000).unwrap(),
        owner: user(number),
        setup: true,
        linked: number.is_multiple_of(2),
        bindings: RoleBindings::new([
            (RoleKey::Mod, roles([number, 1])),
            (RoleKey::Admin, roles([number, 2])),
        ]),
    }
}

/// Generates records while they are read, so that memory figures show only the storage.
pub(crate) struct Made<I>(std::iter::Enumerate<I>);

impl<I: Iterator<Item = Record>> Made<I> {
    pub(crate) fn new(records: I) -> Self {
        Self(records.enumerate())
    }
}

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
    let mut id = [0; 32];
    chance.fill(&mut id);
    let session = Session {
        id: TokenHash::from_bytes(id),
        user: user(number),
        created_at: Timestamp::EPOCH,
        last_seen_at: Timestamp::EPOCH,
        user_agent: None,
    };
    let nothing = Cutoffs {
        created: Timestamp::from_micros(-1),
        seen: Timestamp::from_micros(-1),
        ahead: Timestamp::from_micros(i64::MAX),
    };
    let cap = const { NonZeroU32::new(10).unwrap() };
    storage.create(&session, cap, nothing).await.map(drop)
}
