//! The bot's data is visible before its request is answered; data kept in other stores is read there and cannot be fed.

use crate::use_cases::{GUILD, Stage, USER};
use async_trait::async_trait;
use companion_domain::{
    change::{Key, Kind, Subject, Tally},
    model::{GuildId, GuildWithRoles, Roster, TeamMember, UserId},
    port::{
        ApplyError, BlockList, GuildDirectory, Mutation, Record, Replace, SourceError, StoreError, SyncError,
        TeamRoster,
    },
    usecase::ListGuildsError,
};
use companion_storage_memory::MemoryStorage;
use companion_testkit::{
    conformance::stream::Stream,
    use_cases::{InMemory, settings},
    world::{a_guild, a_heartbeat, a_member, a_team_member, an_ownership, at, guild_id, user_id},
};
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering::SeqCst},
};

#[tokio::test]
async fn delivers_every_write_before_it_returns() {
    let (stage, recorder) = Stage::followed(MemoryStorage::new());
    let feed = &stage.use_cases.feed;
    stage.use_cases.dispatcher.catch_up().await.unwrap();
    let user = user_id(USER);
    let report = a_heartbeat("one", at(1_000));
    let cluster = report.cluster.clone();
    let team = Roster::new(vec![a_team_member(USER, "Board", 1)]).unwrap();
    let mutations = [
        (Mutation::Put(Record::Blocked(user)), Subject::Blocked(user)),
        (Mutation::Remove(Key::Blocked(user)), Subject::Blocked(user)),
        (Mutation::ReplaceTeam(team), Subject::Many(Kind::Team)),
        (Mutation::Report(report), Subject::Cluster(cluster.clone())),
        (Mutation::RemoveSilent(vec![(cluster.clone(), at(1_000))]), Subject::Cluster(cluster)),
    ];
    let mut expected = Vec::new();
    for (mutation, subject) in mutations {
        assert_ne!(feed.apply(vec![mutation]).await.unwrap(), Tally::NOTHING, "{subject:?}");
        expected.push(subject);
        assert_eq!(recorder.subjects(), expected);
    }
    feed.sync(&Replace::default(), &mut Stream::of(vec![Record::Blocked(user)])).await.unwrap();
    expected.push(Subject::Blocked(user));
    assert_eq!(recorder.subjects(), expected);
    stage.use_cases.dispatcher.catch_up().await.unwrap();
    assert_eq!(recorder.subjects(), expected, "what was delivered is not delivered again");

    let [ended, forgotten] = [stage.signs_in(USER + 1, vec![]).await, stage.signs_in(USER + 2, vec![]).await];
    stage.use_cases.dispatcher.catch_up().await.unwrap();
    let before = recorder.subjects().len();
    stage.use_cases.sessions.revoke(&ended.session.id).await.unwrap();
    assert_eq!(recorder.subjects()[before..], [Subject::Session(ended.session.id)]);
    stage.use_cases.forget.forget(forgotten.user.id).await.unwrap();
    let told = recorder.subjects().split_off(before);
    for subject in [Subject::Session(forgotten.session.id), Subject::Grant(forgotten.user.id)] {
        assert!(told.contains(&subject), "{subject:?}");
    }
}

#[tokio::test]
async fn a_sync_cannot_exceed_the_team_limit() {
    let stage = Stage::new();
    let places = |users: std::ops::Range<u64>| -> Vec<_> {
        users.map(|user| Record::Team(a_team_member(user, "Board", 1))).collect()
    };
    let full = Roster::MAX as u64 + 1;
    stage.use_cases.feed.sync(&Replace::default(), &mut Stream::of(places(1..full))).await.unwrap();
    // Members that exist already take no additional place.
    stage.use_cases.feed.sync(&Replace::default(), &mut Stream::of(places(1..full))).await.unwrap();
    let more = places(full - 1..full + 1);
    let refused = stage.use_cases.feed.sync(&Replace::default(), &mut Stream::of(more)).await;
    assert!(matches!(refused, Err(SyncError::Source(SourceError::TeamFull { line: 2 }))), "{refused:?}");
    assert_eq!(TeamRoster::all(&*stage.memory.storage).await.unwrap().len(), Roster::MAX);
    let replace = Replace { kinds: [Kind::Team].into(), shard: None };
    let others = places(full..2 * full - 1);
    stage.use_cases.feed.sync(&replace, &mut Stream::of(others)).await.unwrap();
    assert_eq!(TeamRoster::all(&*stage.memory.storage).await.unwrap().len(), Roster::MAX);
}

/// An external store of the team, blocks and guilds.
#[derive(Default)]
struct Elsewhere {
    blocked: AtomicBool,
    team: Mutex<Vec<TeamMember>>,
    guild_has_bot: AtomicBool,
}

#[async_trait]
impl BlockList for Elsewhere {
    async fn is_blocked(&self, _: UserId) -> Result<bool, StoreError> {
        Ok(self.blocked.load(SeqCst))
    }
}

#[async_trait]
impl TeamRoster for Elsewhere {
    async fn all(&self) -> Result<Arc<[TeamMember]>, StoreError> {
        Ok(self.team.lock().unwrap().clone().into())
    }
}

#[async_trait]
impl GuildDirectory for Elsewhere {
    async fn with_roles(&self, _: UserId, guilds: &[GuildId]) -> Result<Vec<GuildWithRoles>, StoreError> {
        let seen = GuildWithRoles { guild: Arc::new(a_guild(GUILD)), roles: Arc::default() };
        let has_bot = self.guild_has_bot.load(SeqCst) && guilds.contains(&guild_id(GUILD));
        Ok(has_bot.then_some(seen).into_iter().collect())
    }
}

fn beside_others() -> (Stage, Arc<Elsewhere>) {
    let (mut memory, elsewhere) = (InMemory::new(), Arc::new(Elsewhere::default()));
    let stores = memory.ports.stores.clone();
    memory.ports.stores =
        stores.with_team(elsewhere.clone()).with_blocked(elsewhere.clone()).with_guilds(elsewhere.clone());
    (Stage::over(memory, settings()), elsewhere)
}

#[tokio::test]
async fn rereads_data_of_external_stores() {
    let (stage, elsewhere) = beside_others();
    assert_eq!(stage.use_cases.show_team.show().await.unwrap(), []);
    elsewhere.team.lock().unwrap().push(a_team_member(USER, "Board", 1));
    assert_eq!(stage.use_cases.show_team.show().await.unwrap(), [a_team_member(USER, "Board", 1)]);
    stage.signs_in(USER, vec![an_ownership(GUILD)]).await;
    let listed = async || stage.list().await.map(|list| list.guilds().len());
    assert_eq!(listed().await.unwrap(), 0);
    elsewhere.guild_has_bot.store(true, SeqCst);
    assert_eq!(listed().await.unwrap(), 1);
    elsewhere.blocked.store(true, SeqCst);
    assert!(matches!(listed().await, Err(ListGuildsError::Blocked(_))));
    let request = stage.memory.request(user_id(USER));
    assert!(stage.use_cases.sign_in.sign_in(&request).await.is_err());
}

#[tokio::test]
async fn refuses_to_feed_data_of_external_stores() {
    let (stage, _) = beside_others();
    let feed = &stage.use_cases.feed;
    let refused = [
        (Kind::Team, Mutation::ReplaceTeam(Roster::default())),
        (Kind::Blocked, Mutation::Put(Record::Blocked(user_id(1)))),
        (Kind::Blocked, Mutation::Remove(Key::Blocked(user_id(1)))),
        (Kind::Guild, Mutation::Put(Record::Guild(a_guild(1)))),
        (Kind::Member, Mutation::Put(Record::Member(a_member(1, 1, &[])))),
    ];
    let harmless = Mutation::Remove(Key::Staff(user_id(1)));
    for (expected, mutation) in refused {
        let refused = feed.apply(vec![harmless.clone(), mutation]).await;
        assert!(matches!(refused, Err(ApplyError::KeptElsewhere(kind)) if kind == expected), "{refused:?}");
    }
    feed.apply(vec![harmless]).await.unwrap();
    let brings = feed.sync(&Replace::default(), &mut Stream::of(vec![Record::Blocked(user_id(1))])).await;
    let replaces = Replace { kinds: [Kind::Team].into(), shard: None };
    for refused in [brings, feed.sync(&replaces, &mut Stream::of(vec![])).await] {
        assert!(matches!(refused, Err(SyncError::Source(SourceError::KeptElsewhere(_)))), "{refused:?}");
    }
    assert!(!stage.memory.storage.is_blocked(user_id(1)).await.unwrap());
}
