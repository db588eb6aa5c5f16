//! Value types and entities. A value is valid by construction: it is parsed once, at the edge. What does not parse is
//! an [`Invalid`] that names the field and what it must be.

mod guild;
mod history;
mod id;
mod number;
mod outline;
mod people;
mod platform;
mod secret;
mod subscription;
mod telemetry;
mod text;
mod time;
mod web_url;

pub use self::{
    guild::{Guild, GuildWithRoles, Member, MemberCount, RoleBindings, RoleSet},
    history::{Notice, NoticeKind, Period, PeriodChange, PeriodSubject, Silence},
    id::{ChannelId, ClusterId, FeedbackId, GuildId, NoticeId, RoleId, ShardId, UserId},
    number::{Finite, Megabytes, Number},
    outline::{ChannelKind, Entries, Outline, OutlineChannel, OutlineEntry, OutlineRole},
    people::{Feedback, Profile, Rating, Roster, TeamMember, User},
    platform::{
        CodeFingerprint, CodeVerifier, GuildList, IdpCode, Membership, NamedGuild, PictureServer,
        PlatformGuilds, PlatformPermissions, PlatformTokens,
    },
    secret::{Secret, SecretKey},
    subscription::{Slots, SubscribedGuilds, Subscription},
    telemetry::{Heartbeat, Shard, ShardCount, Shards},
    text::{Colour, Description, Headline, Label, Name, NoticeText, Prose, Title, UserAgent},
    time::{Span, Timestamp},
    web_url::WebUrl,
};
pub use crate::{
    invalid::{FieldError, Invalid},
    policy::{RoleKey, StaffPermission, StaffPermissions},
};

pub(crate) use secret::KeyedDigest;
