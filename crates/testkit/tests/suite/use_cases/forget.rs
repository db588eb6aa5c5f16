//! A user is forgotten.

use crate::use_cases::{GUILD, Stage, USER};
use companion_domain::{
    change::{Key, Subject, Tally},
    model::{Feedback, Roster, StaffGrant, StaffGrants},
    port::{
        BlockList, FeedbackStore, GrantStore, GuildDirectory, Mutation, Record, Records, SessionStore,
        TeamRoster,
    },
};
use companion_storage_memory::{IdentityCall, MemoryStorage};
use companion_testkit::world::{
    a_feedback, a_guild, a_member, a_subscription, a_team_member, a_user, an_ownership, guild_id, roles,
    user_id,
};

impl Stage {
    /// Makes everything known that can be known of a user.
    async fn knows(&self, user: u64) {
        let feed = &self.use_cases.feed;
        feed.records.put(Record::Guild(a_guild(GUILD))).await.unwrap();
        feed.records.put(Record::Member(a_member(GUILD, user, &[1]))).await.unwrap();
        feed.records
            .put(Record::Staff(user_id(user), [StaffGrant::Support].into_iter().collect::<StaffGrants>()))
            .await
            .unwrap();
        feed.records.put(Record::Subscription(a_subscription(user, &[GUILD]))).await.unwrap();
        let feedback = Feedback { submitter: a_user(user), ..a_feedback(&format!("by{user}"), 5) };
        feed.records.put(Record::Feedback(feedback.clone())).await.unwrap();
        self.signs_in(user, vec![an_ownership(GUILD)]).await;
    }
}

#[tokio::test]
async fn nothing_is_left_of_a_forgotten_user_and_everything_of_the_others() {
    let stage = Stage::new();
    stage.knows(USER).await;
    stage.knows(USER + 1).await;
    stage.signs_in(USER, vec![]).await;
    let tally = stage.use_cases.forget.forget(user_id(USER)).await.unwrap().tally;
    // Two sessions, and one each of grant, roles, staff grants, subscription and feedback.
    assert_eq!(tally, Tally { removed: 7, ..Tally::NOTHING });
    stage.memory.scheduler.settled().await;
    let store = &*stage.memory.storage;
    for (user, left) in [(USER, false), (USER + 1, true)] {
        let (id, by) = (user_id(user), format!("by{user}").parse().unwrap());
        let seen = store.seen_by(id, &[guild_id(GUILD)]).await.unwrap();
        assert_eq!(*seen[0].roles == roles(&[1]), left);
        assert_eq!(!SessionStore::of_user(store, id).await.unwrap().is_empty(), left);
        assert_eq!(GrantStore::find(store, id).await.unwrap().is_some(), left);
        for key in [Key::Staff(id), Key::Subscription(id)] {
            assert_eq!(Records::find(store, &key).await.unwrap().is_some(), left);
        }
        assert_eq!(FeedbackStore::find(store, &by).await.unwrap().is_some(), left);
        assert_eq!(stage.memory.identity.is_authorised(id), left);
    }
    assert_eq!(stage.memory.identity.calls(IdentityCall::Revoke), 1);
}

#[tokio::test]
async fn a_block_and_a_place_in_the_team_outlast_forgetting() {
    let stage = Stage::new();
    stage.knows(USER).await;
    stage.use_cases.feed.records.put(Record::Blocked(user_id(USER))).await.unwrap();
    let roster = Roster::new(vec![a_team_member(USER, "Board", 1)]).unwrap();
    stage.use_cases.feed.records.write(Mutation::ReplaceTeam(roster.clone())).await.unwrap();
    stage.use_cases.forget.forget(user_id(USER)).await.unwrap();
    assert!(stage.memory.storage.is_blocked(user_id(USER)).await.unwrap());
    assert_eq!(TeamRoster::all(&*stage.memory.storage).await.unwrap().len(), 1);
}

#[tokio::test]
async fn forgetting_someone_unknown_changes_nothing() {
    let (stage, recorder) = Stage::followed(MemoryStorage::new());
    stage.use_cases.following.catch_up().await.unwrap();
    assert_eq!(stage.use_cases.forget.forget(user_id(USER)).await.unwrap().tally, Tally::NOTHING);
    assert_eq!(recorder.subjects(), []);
}

#[tokio::test]
async fn forgetting_is_told_to_those_who_keep_copies_before_it_is_answered() {
    let (stage, recorder) = Stage::followed(MemoryStorage::new());
    stage.knows(USER).await;
    stage.use_cases.following.catch_up().await.unwrap();
    let before = recorder.subjects().len();
    stage.use_cases.forget.forget(user_id(USER)).await.unwrap();
    let told = recorder.subjects().split_off(before);
    let user = user_id(USER);
    for subject in [
        Subject::Grant(user),
        Subject::Member(guild_id(GUILD), user),
        Subject::Staff(user),
        Subject::Subscription(user),
        Subject::Feedback(format!("by{USER}").parse().unwrap()),
    ] {
        assert!(told.contains(&subject), "{subject:?}");
    }
    assert!(told.iter().any(|subject| matches!(subject, Subject::Session(_))));
}
