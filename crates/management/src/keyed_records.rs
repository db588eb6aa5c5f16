//! The records that the bot writes one by one.

use crate::resource::{FedRecord, describe, resource};
use companion_domain::model::{Feedback, FeedbackId, GuildId, NoticeId, UserId};
use companion_http::{ApiError, audit::Audit, openapi::failure, routing::Resource};
use companion_records::{
    BlockedRecord, FeedbackRecord, GuildRecord, MemberRecord, NoticeRecord, OutlineRecord, StaffRecord,
    SubscriptionRecord,
};
use utoipa::openapi::OpenApi;

/// A path of keyed records of one kind.
#[derive(Clone, Copy)]
pub(crate) struct Fed {
    pub(crate) path: &'static str,
    pub(crate) resource: fn(&'static str) -> Resource,
    /// Adds its operations to the OpenAPI document.
    pub(crate) describe: fn(&mut OpenApi),
}

impl Fed {
    const fn of<R: FedRecord>() -> Self {
        Self { path: R::PATH, resource: resource::<R>, describe: describe::<R> }
    }
}

/// All kinds of keyed records.
pub(crate) const FED: [Fed; 8] = [
    Fed::of::<GuildRecord>(),
    Fed::of::<MemberRecord>(),
    Fed::of::<OutlineRecord>(),
    Fed::of::<SubscriptionRecord>(),
    Fed::of::<StaffRecord>(),
    Fed::of::<FeedbackRecord>(),
    Fed::of::<BlockedRecord>(),
    Fed::of::<NoticeRecord>(),
];

impl FedRecord for GuildRecord {
    type LookUpFailures = failure::LookUp;
    type ChangeFailures = failure::Feeding;

    const PATH: &'static str = "/bot/guilds/{guild}";
    const GET: (&'static str, &'static str) = ("getGuild", "Read a guild");
    const PUT: (&'static str, &'static str) = ("putGuild", "Report a guild that has the bot");
    const REMOVE: (&'static str, &'static str) = ("removeGuild", "Remove a guild that the bot has left");
    const ACTIONS: [&'static str; 2] = ["put_guild", "remove_guild"];

    fn audited(audit: Audit, (guild,): &(GuildId,)) -> Audit {
        audit.subject(guild)
    }
}

impl FedRecord for MemberRecord {
    type LookUpFailures = failure::Member;
    type ChangeFailures = failure::FeedingMember;

    const PATH: &'static str = "/bot/guilds/{guild}/members/{user}";
    const GET: (&'static str, &'static str) = ("getMember", "Read the roles of a member");
    const PUT: (&'static str, &'static str) = ("putMember", "Report the roles of a member");
    const REMOVE: (&'static str, &'static str) =
        ("removeMember", "Remove a member who has left or has no roles");
    const ACTIONS: [&'static str; 2] = ["put_member", "remove_member"];

    fn audited(audit: Audit, (guild, user): &(GuildId, UserId)) -> Audit {
        audit.user(*user).subject(guild)
    }

    fn missing() -> ApiError {
        ApiError::GuildUnknown
    }
}

impl FedRecord for OutlineRecord {
    type LookUpFailures = failure::LookUp;
    type ChangeFailures = failure::FeedingMember;

    const PATH: &'static str = "/bot/guilds/{guild}/outline";
    const GET: (&'static str, &'static str) =
        ("getOutline", "Read the names of a guild's channels and roles");
    const PUT: (&'static str, &'static str) =
        ("putOutline", "Report the names of a guild's channels and roles");
    const REMOVE: (&'static str, &'static str) =
        ("removeOutline", "Remove the names of a guild's channels and roles");
    const ACTIONS: [&'static str; 2] = ["put_outline", "remove_outline"];
    const MIN_BODY_LIMIT: usize = Self::MAX_BYTES;

    fn audited(audit: Audit, (guild,): &(GuildId,)) -> Audit {
        audit.subject(guild)
    }
}

impl FedRecord for SubscriptionRecord {
    type LookUpFailures = failure::LookUp;
    type ChangeFailures = failure::Input;

    const PATH: &'static str = "/bot/plus/{user}";
    const GET: (&'static str, &'static str) = ("getPlus", "Read a user's subscription");
    const PUT: (&'static str, &'static str) = ("putPlus", "Report a user's subscription");
    const REMOVE: (&'static str, &'static str) = ("removePlus", "Remove a user's subscription");
    const ACTIONS: [&'static str; 2] = ["put_plus", "remove_plus"];

    fn audited(audit: Audit, (user,): &(UserId,)) -> Audit {
        audit.user(*user)
    }
}

impl FedRecord for StaffRecord {
    type LookUpFailures = failure::LookUp;
    type ChangeFailures = failure::Input;

    const PATH: &'static str = "/bot/staff/{user}";
    const GET: (&'static str, &'static str) = ("getStaff", "Read a user's staff grants");
    const PUT: (&'static str, &'static str) = ("putStaff", "Set a user's staff grants");
    const REMOVE: (&'static str, &'static str) = ("removeStaff", "Remove a user's staff grants");
    const ACTIONS: [&'static str; 2] = ["put_staff", "remove_staff"];

    fn audited(audit: Audit, (user,): &(UserId,)) -> Audit {
        audit.user(*user)
    }
}

impl FedRecord for FeedbackRecord {
    type LookUpFailures = failure::LookUp;
    type ChangeFailures = failure::Feeding;

    const PATH: &'static str = "/bot/feedback/{id}";
    const GET: (&'static str, &'static str) = ("getFeedback", "Read a feedback entry");
    const PUT: (&'static str, &'static str) = ("putFeedback", "Report a feedback entry");
    const REMOVE: (&'static str, &'static str) = ("removeFeedback", "Remove a feedback entry");
    const ACTIONS: [&'static str; 2] = ["put_feedback", "remove_feedback"];

    fn audited(audit: Audit, (id,): &(FeedbackId,)) -> Audit {
        audit.subject(id)
    }

    fn audited_put(audit: Audit, feedback: &Feedback) -> Audit {
        audit.user(feedback.submitter.id)
    }
}

impl FedRecord for BlockedRecord {
    type LookUpFailures = failure::LookUp;
    type ChangeFailures = failure::Feeding;

    const PATH: &'static str = "/bot/blocked/{user}";
    const GET: (&'static str, &'static str) = ("isBlocked", "Check whether a user is blocked");
    const PUT: (&'static str, &'static str) = ("block", "Block a user");
    const PUT_MORE: &'static str = "A blocked user gets 403 at sign-in and for guilds.";
    const REMOVE: (&'static str, &'static str) = ("unblock", "Unblock a user");
    const ACTIONS: [&'static str; 2] = ["block", "unblock"];

    fn audited(audit: Audit, (user,): &(UserId,)) -> Audit {
        audit.user(*user)
    }
}

impl FedRecord for NoticeRecord {
    type LookUpFailures = failure::LookUp;
    type ChangeFailures = failure::Input;

    const PATH: &'static str = "/bot/notices/{id}";
    const GET: (&'static str, &'static str) = ("getNotice", "Read a notice");
    const PUT: (&'static str, &'static str) = ("putNotice", "Publish a notice on the status page");
    const PUT_MORE: &'static str = "It is shown while it counts, and in the history afterwards. At most 50 can be open, that is, without an end.";
    const REMOVE: (&'static str, &'static str) = ("removeNotice", "Remove a notice, from the history too");
    const ACTIONS: [&'static str; 2] = ["put_notice", "remove_notice"];
    const MIN_BODY_LIMIT: usize = Self::MAX_BYTES;

    fn audited(audit: Audit, (id,): &(NoticeId,)) -> Audit {
        audit.subject(id)
    }
}
