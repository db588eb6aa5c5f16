//! The records that the bot writes one by one.

use crate::resource::{FedRecord, Operation, describe, resource};
use companion_http::{ApiError, openapi::failure, routing::Resource};
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
    const GET: Operation = ("get_guild", "Read a guild");
    const PUT: Operation = ("put_guild", "Report a guild that has the bot");
    const REMOVE: Operation = ("remove_guild", "Remove a guild that the bot has left");
}

impl FedRecord for MemberRecord {
    type LookUpFailures = failure::Member;
    type ChangeFailures = failure::FeedingMember;

    const PATH: &'static str = "/bot/guilds/{guild}/members/{user}";
    const GET: Operation = ("get_member", "Read the roles of a member");
    const PUT: Operation = ("put_member", "Report the roles of a member");
    const REMOVE: Operation = ("remove_member", "Remove a member who has left or has no roles");

    fn missing() -> ApiError {
        ApiError::GuildUnknown
    }
}

impl FedRecord for OutlineRecord {
    type LookUpFailures = failure::LookUp;
    type ChangeFailures = failure::FeedingMember;

    const PATH: &'static str = "/bot/guilds/{guild}/outline";
    const GET: Operation = ("get_outline", "Read the names of a guild's channels and roles");
    const PUT: Operation = ("put_outline", "Report the names of a guild's channels and roles");
    const REMOVE: Operation = ("remove_outline", "Remove the names of a guild's channels and roles");
    const MIN_BODY_LIMIT: usize = Self::MAX_BYTES;
}

impl FedRecord for SubscriptionRecord {
    type LookUpFailures = failure::LookUp;
    type ChangeFailures = failure::Input;

    const PATH: &'static str = "/bot/plus/{user}";
    const GET: Operation = ("get_plus", "Read a user's subscription");
    const PUT: Operation = ("put_plus", "Report a user's subscription");
    const REMOVE: Operation = ("remove_plus", "Remove a user's subscription");
}

impl FedRecord for StaffRecord {
    type LookUpFailures = failure::LookUp;
    type ChangeFailures = failure::Input;

    const PATH: &'static str = "/bot/staff/{user}";
    const GET: Operation = ("get_staff", "Read a user's staff grants");
    const PUT: Operation = ("put_staff", "Set a user's staff grants");
    const REMOVE: Operation = ("remove_staff", "Remove a user's staff grants");
}

impl FedRecord for FeedbackRecord {
    type LookUpFailures = failure::LookUp;
    type ChangeFailures = failure::Feeding;

    const PATH: &'static str = "/bot/feedback/{id}";
    const GET: Operation = ("get_feedback", "Read a feedback entry");
    const PUT: Operation = ("put_feedback", "Report a feedback entry");
    const REMOVE: Operation = ("remove_feedback", "Remove a feedback entry");
}

impl FedRecord for BlockedRecord {
    type LookUpFailures = failure::LookUp;
    type ChangeFailures = failure::Feeding;

    const PATH: &'static str = "/bot/blocked/{user}";
    const GET: Operation = ("is_blocked", "Check whether a user is blocked");
    const PUT: Operation = ("block", "Block a user");
    const PUT_MORE: &'static str = "A blocked user gets 403 at sign-in and for guilds.";
    const REMOVE: Operation = ("unblock", "Unblock a user");
}

impl FedRecord for NoticeRecord {
    type LookUpFailures = failure::LookUp;
    type ChangeFailures = failure::Input;

    const PATH: &'static str = "/bot/notices/{id}";
    const GET: Operation = ("get_notice", "Read a notice");
    const PUT: Operation = ("put_notice", "Publish a notice on the status page");
    const PUT_MORE: &'static str = "It is shown while it counts, and in the history afterwards. At most 50 can be open, that is, without an end.";
    const REMOVE: Operation = ("remove_notice", "Remove a notice, from the history too");
    const MIN_BODY_LIMIT: usize = Self::MAX_BYTES;
}
