//! Sessions and the stored data of a user, as both APIs show them.

use super::{Snowflake, settings::StoredChange};
use companion_domain::{
    model::{self, Feedback, Member, Membership, NamedGuild, Subscription, UserId},
    port::GrantSummary,
    session::Session,
    usecase::{self, SignedIn},
};
use serde::Serialize;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ObjectBuilder, RefOr, Schema, schema::Type},
};

/// A new session.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Session)]
pub(crate) struct NewSession<'a> {
    /// The session token, shown this once. Send it in the header `Token`.
    token: SessionToken<'a>,
    user: User<'a>,
}

impl<'a> From<&'a SignedIn> for NewSession<'a> {
    fn from(signed_in: &'a SignedIn) -> Self {
        Self { token: SessionToken(signed_in.token.expose()), user: (&signed_in.user).into() }
    }
}

/// A session token.
#[derive(Serialize)]
pub struct SessionToken<'a>(&'a str);

impl PartialSchema for SessionToken<'_> {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some("A session token."))
            .pattern(Some("^cmp_[A-Za-z0-9_-]{64}$"))
            .examples(["cmp_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4v"])
            .into()
    }
}

impl ToSchema for SessionToken<'_> {}

/// Empty: the status code says everything.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

/// A user of the chat platform.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct User<'a> {
    /// The unique name.
    #[schema(min_length = 1, max_length = 256, examples("night_owl"))]
    username: &'a str,
    /// The display name.
    #[schema(min_length = 1, max_length = 256, examples("Night Owl"))]
    name: &'a str,
    /// The identity provider's id of the user.
    id: Snowflake,
    /// URL of a picture.
    #[schema(
        pattern = "^[Hh][Tt][Tt][Pp][Ss]?://[!-~]+$",
        max_length = 2048,
        examples("https://cdn.example/embed/avatars/1.png")
    )]
    avatar: &'a str,
}

impl<'a> From<&'a model::User> for User<'a> {
    fn from(user: &'a model::User) -> Self {
        Self {
            username: user.username.as_str(),
            name: user.name.as_str(),
            id: user.id.into(),
            avatar: user.avatar.as_str(),
        }
    }
}

/// All stored data of a user: what forgetting them would remove.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StoredUser<'a> {
    user: Snowflake,
    /// The sessions, the oldest first.
    sessions: Vec<StoredSession>,
    /// What the platform granted in the user's name; null if nothing is stored.
    #[schema(required)]
    grant: Option<StoredGrant>,
    /// The user's platform roles, as the bot reported them, by guild.
    members: Vec<StoredMember>,
    /// The user's subscription; null if there is none.
    #[schema(required)]
    plus: Option<StoredSubscription>,
    /// Staff grants of the user.
    #[schema(examples(json!(["SUPPORT"])))]
    staff: Vec<&'static str>,
    /// Feedback of the user, by id.
    feedback: Vec<StoredFeedback<'a>>,
    /// Changes of settings by the user, by guild. Forgetting keeps them, without the user.
    settings: Vec<StoredChange<'a>>,
}

impl<'a> StoredUser<'a> {
    /// Creates the shape of a user's stored data.
    #[must_use]
    pub fn new(user: UserId, stored: &'a usecase::StoredUser) -> Self {
        Self {
            user: user.into(),
            sessions: stored.sessions.iter().map(StoredSession::from).collect(),
            grant: stored.grant.as_ref().map(StoredGrant::from),
            members: stored.members.iter().map(StoredMember::from).collect(),
            plus: stored.subscription.as_ref().map(StoredSubscription::from),
            staff: stored.staff.iter().flat_map(|grants| grants.iter()).map(|grant| grant.as_str()).collect(),
            feedback: stored.feedback.iter().map(StoredFeedback::from).collect(),
            settings: stored.settings.iter().map(StoredChange::from).collect(),
        }
    }
}

/// A stored session.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredSession {
    /// The session's id: the SHA-256 of its token.
    #[schema(pattern = "^[0-9a-f]{64}$")]
    id: String,
    /// When it was created, in seconds since 1970.
    #[schema(examples(1_700_000_000))]
    created: i64,
    /// When it was last used, as last written to the store, in seconds since 1970.
    #[schema(examples(1_700_000_000))]
    seen: i64,
    /// The `User-Agent` of its sign-in, at most 256 characters; null if unknown.
    #[schema(
        required,
        max_length = 256,
        examples("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")
    )]
    user_agent: Option<String>,
}

impl From<&Session> for StoredSession {
    fn from(session: &Session) -> Self {
        Self {
            id: session.id.to_string(),
            created: session.created_at.seconds(),
            seen: session.last_seen_at.seconds(),
            user_agent: session.user_agent.as_ref().map(ToString::to_string),
        }
    }
}

/// A grant of the platform. Its tokens are sealed and never shown.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredGrant {
    /// Whether the platform's sealed tokens are stored.
    tokens: bool,
    /// The display name at the sign-in; null if it is not stored.
    #[schema(required, examples("Night Owl"))]
    name: Option<String>,
    /// URL of the picture at the sign-in; null if it is not stored.
    #[schema(required, examples("https://cdn.example/embed/avatars/1.png"))]
    avatar: Option<String>,
    /// When the platform's list of guilds was fetched, in seconds since 1970; null if it was not.
    #[schema(required, examples(1_700_000_000))]
    fetched: Option<i64>,
    /// The platform's list of guilds.
    guilds: Vec<StoredMembership>,
    /// Guilds of that list that the user manages and that lacked the bot, at most 200.
    without_bot: Vec<StoredNamedGuild>,
}

impl From<&GrantSummary> for StoredGrant {
    fn from(grant: &GrantSummary) -> Self {
        let memberships = grant.list.iter().flat_map(|list| list.memberships.iter());
        let without_bot = grant.list.iter().flat_map(|list| &list.without_bot);
        Self {
            tokens: grant.renewable,
            name: grant.profile.as_ref().map(|profile| profile.name.to_string()),
            avatar: grant.profile.as_ref().map(|profile| profile.avatar.to_string()),
            fetched: grant.list.as_ref().map(|list| list.fetched_at.seconds()),
            guilds: memberships.map(StoredMembership::from).collect(),
            without_bot: without_bot.map(StoredNamedGuild::from).collect(),
        }
    }
}

/// A guild in the platform's list.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredMembership {
    guild: Snowflake,
    /// Whether the user owns it.
    owner: bool,
    /// The platform's permission bits of the user there, as a decimal number in a string.
    #[schema(pattern = "^[0-9]{1,20}$", examples("32"))]
    permissions: String,
}

impl From<&Membership> for StoredMembership {
    fn from(membership: &Membership) -> Self {
        Self {
            guild: membership.guild.into(),
            owner: membership.owner,
            permissions: membership.permissions.bits().to_string(),
        }
    }
}

/// The name of a guild without the bot.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredNamedGuild {
    guild: Snowflake,
    #[schema(examples("Night Owls"))]
    name: String,
    /// URL of the icon; null if there is none.
    #[schema(required, examples("https://cdn.example/icons/1/cafe.png"))]
    icon: Option<String>,
}

impl From<&NamedGuild> for StoredNamedGuild {
    fn from(named: &NamedGuild) -> Self {
        Self {
            guild: named.guild.into(),
            name: named.name.to_string(),
            icon: named.icon.as_ref().map(ToString::to_string),
        }
    }
}

/// The user's platform roles in a guild.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredMember {
    guild: Snowflake,
    roles: Vec<Snowflake>,
}

impl From<&Member> for StoredMember {
    fn from(member: &Member) -> Self {
        let roles = member.roles.as_slice().iter().copied().map(Snowflake::from).collect();
        Self { guild: member.guild.into(), roles }
    }
}

/// A subscription.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredSubscription {
    guilds: Vec<Snowflake>,
    #[schema(minimum = 0, examples(2))]
    slots: u32,
}

impl From<&Subscription> for StoredSubscription {
    fn from(subscription: &Subscription) -> Self {
        let guilds = subscription.guilds.as_slice().iter().copied().map(Snowflake::from).collect();
        Self { guilds, slots: subscription.slots.get() }
    }
}

/// A feedback entry of any rating.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredFeedback<'a> {
    #[schema(pattern = "^[A-Za-z0-9_-]{1,64}$", examples("f-1"))]
    id: &'a str,
    /// The text; empty for a rating without one.
    #[schema(max_length = 4000, examples("Set up in five minutes."))]
    feedback: &'a str,
    #[schema(minimum = 1, maximum = 5, examples(5))]
    rating: u8,
    /// When it was submitted, in seconds since 1970.
    #[schema(minimum = 0, examples(1_700_000_000))]
    timestamp: i64,
    submitter: User<'a>,
}

impl<'a> From<&'a Feedback> for StoredFeedback<'a> {
    fn from(entry: &'a Feedback) -> Self {
        Self {
            id: entry.id.as_str(),
            feedback: entry.text.as_str(),
            rating: entry.rating.stars(),
            timestamp: entry.submitted_at.seconds(),
            submitter: (&entry.submitter).into(),
        }
    }
}
