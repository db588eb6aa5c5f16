//! Ports that read from outside of the store.

use crate::use_cases::{GUILD, Stage, USER};
use async_trait::async_trait;
use companion_domain::{
    change::{Key, Kind},
    model::{GuildId, GuildSeen, Roster, TeamMember, UserId},
    port::{
        ApplyError, BlockList, GuildDirectory, Mutation, Numbered, Record, RecordSource, Replace,
        SourceError, StoreError, SyncError, TeamRoster,
    },
    usecase::ListGuildsError,
};
use companion_testkit::{
    use_cases::{InMemory, settings},
    world::{a_guild, a_member, a_team_member, an_ownership, guild_id, user_id},
};
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering::SeqCst},
};

/// Keeps the team, blocks and guilds of its own.
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
    async fn seen_by(&self, _: UserId, guilds: &[GuildId]) -> Result<Vec<GuildSeen>, StoreError> {
        let seen = GuildSeen { guild: Arc::new(a_guild(GUILD)), roles: Arc::default() };
        let has_bot = self.guild_has_bot.load(SeqCst) && guilds.contains(&guild_id(GUILD));
        Ok(has_bot.then_some(seen).into_iter().collect())
    }
}

fn stage() -> (Stage, Arc<Elsewhere>) {
    let (mut memory, elsewhere) = (InMemory::new(), Arc::new(Elsewhere::default()));
    let stores = memory.ports.stores.clone();
    memory.ports.stores =
        stores.with_team(elsewhere.clone()).with_blocked(elsewhere.clone()).with_guilds(elsewhere.clone());
    (Stage::over(memory, settings()), elsewhere)
}

#[tokio::test]
async fn reads_anew_what_is_kept_elsewhere() {
    let (stage, elsewhere) = stage();
    assert_eq!(stage.use_cases.show_team.show().await.unwrap(), []);
    elsewhere.team.lock().unwrap().push(a_team_member(USER, "Board", 1));
    assert_eq!(stage.use_cases.show_team.show().await.unwrap(), [a_team_member(USER, "Board", 1)]);
    stage.signs_in(USER, vec![an_ownership(GUILD)]).await;
    let listed =
        async || stage.use_cases.list_guilds.list(user_id(USER)).await.map(|list| list.guilds().len());
    assert_eq!(listed().await.unwrap(), 0);
    elsewhere.guild_has_bot.store(true, SeqCst);
    assert_eq!(listed().await.unwrap(), 1);
    elsewhere.blocked.store(true, SeqCst);
    assert!(matches!(listed().await, Err(ListGuildsError::Blocked(_))));
    let request = stage.memory.request(user_id(USER));
    assert!(stage.use_cases.sign_in.sign_in(&request).await.is_err());
}

/// A stream of one record.
struct Only(Option<Record>);

#[async_trait]
impl RecordSource for Only {
    async fn next(&mut self) -> Result<Option<Vec<Numbered>>, SourceError> {
        Ok(self.0.take().map(|record| vec![Numbered { line: 1, record }]))
    }
}

#[tokio::test]
async fn refuses_to_feed_what_is_kept_elsewhere() {
    let (stage, _) = stage();
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
    let brings = feed.sync(&Replace::default(), &mut Only(Some(Record::Blocked(user_id(1))))).await;
    let replaces = Replace { kinds: [Kind::Team].into(), shard: None };
    for refused in [brings, feed.sync(&replaces, &mut Only(None)).await] {
        assert!(matches!(refused, Err(SyncError::Source(SourceError::KeptElsewhere(_)))), "{refused:?}");
    }
    assert!(!stage.memory.storage.is_blocked(user_id(1)).await.unwrap());
}
