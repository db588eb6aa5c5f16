//! The records that the bot keeps up to date, one by one.

use crate::resource::KeyedRecord;
use companion_domain::{
    change::Tally,
    model::{Feedback, FeedbackId, Guild, GuildId, Member, StaffGrants, Subscription, UserId},
    port::StoreError,
    usecase::{Feed, LookUp},
};
use companion_http::{ApiError, audit::Audit, openapi::failure};
use companion_records::{
    BlockedRecord, FeedbackRecord, GuildRecord, MemberRecord, StaffRecord, SubscriptionRecord,
};
use std::sync::Arc;

impl KeyedRecord for GuildRecord {
    type LookUpFailures = failure::LookUp;
    type ChangeFailures = failure::Input;
    type Found = Arc<Guild>;

    const PATH: &'static str = "/bot/guilds/{guild}";
    const GET: (&'static str, &'static str) = ("getGuild", "Look a guild up");
    const PUT: (&'static str, &'static str) = ("putGuild", "Report a guild that has the bot");
    const REMOVE: (&'static str, &'static str) = ("removeGuild", "The bot has left a guild");
    const ACTIONS: [&'static str; 2] = ["put_guild", "remove_guild"];

    fn audited(audit: Audit, (guild,): &(GuildId,)) -> Audit {
        audit.subject(guild)
    }

    async fn find(look_up: &LookUp, (guild,): (GuildId,)) -> Result<Option<Arc<Guild>>, StoreError> {
        look_up.guild(guild).await
    }

    async fn put(feed: &Feed, guild: Guild) -> Result<Option<Tally>, StoreError> {
        feed.put_guild(&guild).await.map(Some)
    }

    async fn remove(feed: &Feed, (guild,): (GuildId,)) -> Result<Option<Tally>, StoreError> {
        feed.remove_guild(guild).await.map(Some)
    }
}

impl KeyedRecord for MemberRecord {
    type LookUpFailures = failure::Member;
    type ChangeFailures = failure::Member;
    type Found = Member;

    const PATH: &'static str = "/bot/guilds/{guild}/members/{user}";
    const GET: (&'static str, &'static str) = ("getMember", "Look the roles of a member up");
    const PUT: (&'static str, &'static str) = ("putMember", "Report the roles of a member");
    const REMOVE: (&'static str, &'static str) = ("removeMember", "A member has left, or has no roles");
    const ACTIONS: [&'static str; 2] = ["put_member", "remove_member"];

    fn audited(audit: Audit, (guild, user): &(GuildId, UserId)) -> Audit {
        audit.user(*user).subject(guild)
    }

    async fn find(look_up: &LookUp, (guild, user): (GuildId, UserId)) -> Result<Option<Member>, StoreError> {
        let roles = look_up.member(guild, user).await?;
        Ok(roles.map(|roles| Member { guild, user, roles: Arc::unwrap_or_clone(roles) }))
    }

    async fn put(feed: &Feed, member: Member) -> Result<Option<Tally>, StoreError> {
        feed.put_member(&member).await
    }

    async fn remove(feed: &Feed, (guild, user): (GuildId, UserId)) -> Result<Option<Tally>, StoreError> {
        feed.remove_member(guild, user).await
    }

    fn missing() -> ApiError {
        ApiError::GuildUnknown
    }
}

impl KeyedRecord for SubscriptionRecord {
    type LookUpFailures = failure::LookUp;
    type ChangeFailures = failure::Input;
    type Found = Arc<Subscription>;

    const PATH: &'static str = "/bot/plus/{user}";
    const GET: (&'static str, &'static str) = ("getPlus", "Look a user's subscription up");
    const PUT: (&'static str, &'static str) = ("putPlus", "Report a user's subscription");
    const REMOVE: (&'static str, &'static str) = ("removePlus", "A subscription has ended");
    const ACTIONS: [&'static str; 2] = ["put_plus", "remove_plus"];

    fn audited(audit: Audit, (user,): &(UserId,)) -> Audit {
        audit.user(*user)
    }

    async fn find(look_up: &LookUp, (user,): (UserId,)) -> Result<Option<Arc<Subscription>>, StoreError> {
        look_up.subscription(user).await
    }

    async fn put(feed: &Feed, subscription: Subscription) -> Result<Option<Tally>, StoreError> {
        feed.put_subscription(&subscription).await.map(Some)
    }

    async fn remove(feed: &Feed, (user,): (UserId,)) -> Result<Option<Tally>, StoreError> {
        feed.remove_subscription(user).await.map(Some)
    }
}

impl KeyedRecord for StaffRecord {
    type LookUpFailures = failure::LookUp;
    type ChangeFailures = failure::Input;
    type Found = (UserId, StaffGrants);

    const PATH: &'static str = "/bot/staff/{user}";
    const GET: (&'static str, &'static str) = ("getStaff", "Look up what a user is granted by name");
    const PUT: (&'static str, &'static str) = ("putStaff", "Grant permissions by name");
    const REMOVE: (&'static str, &'static str) = ("removeStaff", "Take back what was granted by name");
    const ACTIONS: [&'static str; 2] = ["put_staff", "remove_staff"];

    fn audited(audit: Audit, (user,): &(UserId,)) -> Audit {
        audit.user(*user)
    }

    async fn find(look_up: &LookUp, (user,): (UserId,)) -> Result<Option<Self::Found>, StoreError> {
        Ok(look_up.staff(user).await?.map(|grants| (user, grants)))
    }

    async fn put(feed: &Feed, (user, grants): (UserId, StaffGrants)) -> Result<Option<Tally>, StoreError> {
        feed.put_staff(user, grants).await.map(Some)
    }

    async fn remove(feed: &Feed, (user,): (UserId,)) -> Result<Option<Tally>, StoreError> {
        feed.remove_staff(user).await.map(Some)
    }
}

impl KeyedRecord for FeedbackRecord {
    type LookUpFailures = failure::LookUp;
    type ChangeFailures = failure::Input;
    type Found = Arc<Feedback>;

    const PATH: &'static str = "/bot/feedback/{id}";
    const GET: (&'static str, &'static str) = ("getFeedback", "Look feedback up");
    const PUT: (&'static str, &'static str) = ("putFeedback", "Report feedback");
    const REMOVE: (&'static str, &'static str) = ("removeFeedback", "Take feedback back");
    const ACTIONS: [&'static str; 2] = ["put_feedback", "remove_feedback"];

    fn audited(audit: Audit, (id,): &(FeedbackId,)) -> Audit {
        audit.subject(id)
    }

    fn audited_put(audit: Audit, feedback: &Feedback) -> Audit {
        audit.user(feedback.submitter.id)
    }

    async fn find(look_up: &LookUp, (id,): (FeedbackId,)) -> Result<Option<Arc<Feedback>>, StoreError> {
        look_up.feedback(&id).await
    }

    async fn put(feed: &Feed, feedback: Feedback) -> Result<Option<Tally>, StoreError> {
        feed.put_feedback(&feedback).await.map(Some)
    }

    async fn remove(feed: &Feed, (id,): (FeedbackId,)) -> Result<Option<Tally>, StoreError> {
        feed.remove_feedback(&id).await.map(Some)
    }
}

impl KeyedRecord for BlockedRecord {
    type LookUpFailures = failure::LookUp;
    type ChangeFailures = failure::Input;
    type Found = (UserId,);

    const PATH: &'static str = "/bot/blocked/{user}";
    const GET: (&'static str, &'static str) = ("isBlocked", "Whether a user is blocked");
    const PUT: (&'static str, &'static str) = ("block", "Block a user");
    const PUT_MORE: &'static str = "A blocked user gets 403 at sign-in and for guilds.";
    const REMOVE: (&'static str, &'static str) = ("unblock", "Let a user in again");
    const ACTIONS: [&'static str; 2] = ["block", "unblock"];

    fn audited(audit: Audit, (user,): &(UserId,)) -> Audit {
        audit.user(*user)
    }

    async fn find(look_up: &LookUp, (user,): (UserId,)) -> Result<Option<(UserId,)>, StoreError> {
        Ok(look_up.is_blocked(user).await?.then_some((user,)))
    }

    async fn put(feed: &Feed, (user,): (UserId,)) -> Result<Option<Tally>, StoreError> {
        feed.block(user).await.map(Some)
    }

    async fn remove(feed: &Feed, (user,): (UserId,)) -> Result<Option<Tally>, StoreError> {
        feed.unblock(user).await.map(Some)
    }
}
