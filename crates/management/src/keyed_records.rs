//! The records that the bot writes one by one.

use crate::resource::{FedRecord, Operation, describe, resource};
use companion_domain::change::Key;
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

/// Declares the kinds of keyed records: path, error responses of a read and of a change, and the operations GET, PUT and
/// DELETE, each with its name and summary; then what else differs from the usual.
macro_rules! fed {
    ($($record:ident at $path:literal, $look_up:ident, $change:ident {
        $get:literal: $read:literal, $put:literal: $write:literal, $remove:literal: $removed:literal, $($more:tt)*
    })*) => {
        /// All kinds of keyed records.
        pub(crate) const FED: &[Fed] = &[$(Fed::of::<$record>()),*];

        $(impl FedRecord for $record {
            type LookUpFailures = failure::$look_up;
            type ChangeFailures = failure::$change;

            const PATH: &'static str = $path;
            const GET: Operation = ($get, $read);
            const PUT: Operation = ($put, $write);
            const REMOVE: Operation = ($remove, $removed);
            $($more)*
        })*
    };
}

fed! {
    GuildRecord at "/bot/guilds/{guild}", LookUp, Feeding {
        "get_guild": "Read a guild",
        "put_guild": "Report a guild that has the bot",
        "remove_guild": "Remove a guild that the bot has left",
    }
    MemberRecord at "/bot/guilds/{guild}/members/{user}", Member, FeedingMember {
        "get_member": "Read the roles of a member",
        "put_member": "Report the roles of a member",
        "remove_member": "Remove a member who has left or has no roles",
        fn missing() -> ApiError {
            ApiError::GuildUnknown
        }
    }
    OutlineRecord at "/bot/guilds/{guild}/outline", LookUp, FeedingMember {
        "get_outline": "Read the names of a guild's channels and roles",
        "put_outline": "Report the names of a guild's channels and roles",
        "remove_outline": "Remove the names of a guild's channels and roles",
        const MIN_BODY_LIMIT: usize = Self::MAX_BYTES;
    }
    SubscriptionRecord at "/bot/plus/{user}", LookUp, Input {
        "get_plus": "Read a user's subscription",
        "put_plus": "Report a user's subscription",
        "remove_plus": "Remove a user's subscription",
    }
    StaffRecord at "/bot/staff/{user}", LookUp, Input {
        "get_staff": "Read a user's staff grants",
        "put_staff": "Set a user's staff grants",
        "remove_staff": "Remove a user's staff grants",
    }
    FeedbackRecord at "/bot/feedback/{id}", LookUp, Feeding {
        "get_feedback": "Read a feedback entry",
        "put_feedback": "Report a feedback entry",
        "remove_feedback": "Remove a feedback entry",
    }
    BlockedRecord at "/bot/blocked/{user}", LookUp, Feeding {
        "is_blocked": "Check whether a user is blocked",
        "block": "Block a user",
        "unblock": "Unblock a user",
        const PUT_MORE: &'static str = "A blocked user gets 403 at sign-in and for guilds.";
    }
    NoticeRecord at "/bot/notices/{id}", LookUp, Input {
        "get_notice": "Read a notice",
        "put_notice": "Publish a notice on the status page",
        "remove_notice": "Remove a notice, from the history too",
        const PUT_MORE: &'static str = "It is shown while it counts, and in the history afterwards. At most 50 can be open, that is, without an end.";
        const MIN_BODY_LIMIT: usize = Self::MAX_BYTES;
    }
}

/// Adds the key of a record to an audit event.
pub(crate) fn audited(audit: Audit, key: &Key) -> Audit {
    match key {
        Key::Member(guild, user) => audit.user(*user).subject(guild),
        Key::Subscription(user) | Key::Staff(user) | Key::Blocked(user) => audit.user(*user),
        Key::Guild(guild) | Key::Outline(guild) => audit.subject(guild),
        Key::Feedback(id) => audit.subject(id),
        Key::Notice(id) => audit.subject(id),
        // Not written one by one.
        Key::Team(..)
        | Key::Schema(())
        | Key::Settings(_)
        | Key::SettingsEdit(..)
        | Key::Period(..)
        | Key::Session(_)
        | Key::Grant(_) => audit,
    }
}
