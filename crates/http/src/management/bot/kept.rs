//! The records that the bot keeps up to date, one by one.

use super::resource::Kept;
use crate::{audit::Audit, error::ApiError};
use companion_domain::{
    change::Tally,
    model::{Feedback, FeedbackId, Guild, GuildId, Member, StaffGrants, Subscription, UserId},
    port::StoreError,
    usecase::{Feed, LookUp},
};
use companion_records::{
    BlockedRecord, FeedbackRecord, GuildRecord, MemberRecord, StaffRecord, SubscriptionRecord,
};
use std::sync::Arc;

impl Kept for GuildRecord {
    type Found = Arc<Guild>;

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

impl Kept for MemberRecord {
    type Found = Member;

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

impl Kept for SubscriptionRecord {
    type Found = Arc<Subscription>;

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

impl Kept for StaffRecord {
    type Found = (UserId, StaffGrants);

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

impl Kept for FeedbackRecord {
    type Found = Arc<Feedback>;

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

impl Kept for BlockedRecord {
    type Found = (UserId,);

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
