//! What the operator looks up.

use crate::use_cases::{GUILD, Stage, USER};
use companion_domain::policy::StaffGrant;
use companion_testkit::world::{a_feedback, a_guild, a_member, a_subscription, guild_id, roles, user_id};

#[tokio::test]
async fn what_was_fed_is_looked_up_as_it_was_fed() {
    let stage = Stage::new();
    let (feed, look_up) = (&stage.use_cases.feed, &stage.use_cases.look_up);
    feed.put_guild(&a_guild(GUILD)).await.unwrap();
    feed.put_member(&a_member(GUILD, USER, &[7, 8])).await.unwrap();
    feed.put_subscription(&a_subscription(USER, &[GUILD])).await.unwrap();
    feed.put_staff(user_id(USER), [StaffGrant::Support].into_iter().collect()).await.unwrap();
    feed.put_feedback(&a_feedback("f", 1)).await.unwrap();
    feed.block(user_id(USER)).await.unwrap();
    assert_eq!(look_up.guild(guild_id(GUILD)).await.unwrap().as_deref(), Some(&a_guild(GUILD)));
    let member = look_up.member(guild_id(GUILD), user_id(USER)).await.unwrap();
    assert_eq!(member.as_deref(), Some(&roles(&[7, 8])));
    let subscription = look_up.subscription(user_id(USER)).await.unwrap();
    assert_eq!(subscription.as_deref(), Some(&a_subscription(USER, &[GUILD])));
    let staff = look_up.staff(user_id(USER)).await.unwrap().unwrap();
    assert!(staff.iter().eq([StaffGrant::Support]));
    let feedback = look_up.feedback(&"f".parse().unwrap()).await.unwrap();
    assert_eq!(feedback.as_deref(), Some(&a_feedback("f", 1)));
    assert!(look_up.is_blocked(user_id(USER)).await.unwrap());
}

#[tokio::test]
async fn what_was_never_fed_is_nothing_and_a_member_of_a_known_guild_has_no_roles() {
    let stage = Stage::new();
    let look_up = &stage.use_cases.look_up;
    assert_eq!(look_up.guild(guild_id(GUILD)).await.unwrap(), None);
    assert_eq!(look_up.member(guild_id(GUILD), user_id(USER)).await.unwrap(), None);
    assert_eq!(look_up.subscription(user_id(USER)).await.unwrap(), None);
    assert_eq!(look_up.staff(user_id(USER)).await.unwrap(), None);
    assert_eq!(look_up.feedback(&"f".parse().unwrap()).await.unwrap(), None);
    assert!(!look_up.is_blocked(user_id(USER)).await.unwrap());
    stage.use_cases.feed.put_guild(&a_guild(GUILD)).await.unwrap();
    let member = look_up.member(guild_id(GUILD), user_id(USER)).await.unwrap();
    assert_eq!(member.as_deref(), Some(&roles(&[])));
}
