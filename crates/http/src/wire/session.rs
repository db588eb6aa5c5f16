//! Sessions and the stored data of a user, as both APIs show them.

use super::{Snowflake, public::snowflakes, settings::StoredChange};
use companion_domain::{
    model::{self, Feedback, Member, Membership, NamedGuild, Subscription, UserId},
    port::GrantSummary,
    session::Session,
    usecase::{self, SignedIn},
};
use serde::Serialize;
use utoipa::ToSchema;

/// A session token.
#[derive(Serialize, ToSchema)]
#[schema(
    value_type = String,
    pattern = "^cmp_[A-Za-z0-9_-]{64}$",
    examples("cmp_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4v")
)]
pub struct SessionToken<'a>(&'a str);

/// Empty: the status code says everything.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

shapes! {
    /// A new session.
    #[schema(as = Session)]
    pub(crate) struct NewSession<'a>(signed_in: &'a SignedIn) {
        /// The session token, shown this once. Send it in the header `Token`.
        token: SessionToken<'a> = SessionToken(signed_in.token.expose()),
        user: User<'a> = (&signed_in.user).into(),
    }

    /// A user of the chat platform.
    pub(crate) struct User<'a>(user: &'a model::User) {
        /// The unique name.
        #[schema(min_length = 1, max_length = 256, examples("night_owl"))]
        username: &'a str = user.username.as_str(),
        /// The display name.
        #[schema(min_length = 1, max_length = 256, examples("Night Owl"))]
        name: &'a str = user.name.as_str(),
        /// The identity provider's id of the user.
        id: Snowflake = user.id.into(),
        /// URL of a picture.
        #[schema(
            pattern = "^[Hh][Tt][Tt][Pp][Ss]?://[!-~]+$",
            max_length = 2048,
            examples("https://cdn.example/embed/avatars/1.png")
        )]
        avatar: &'a str = user.avatar.as_str(),
    }

    /// All stored data of a user: what forgetting them would remove.
    pub struct StoredUser<'a>((user, stored): (UserId, &'a usecase::StoredUser)) {
        user: Snowflake = user.into(),
        /// The sessions, the oldest first.
        sessions: Vec<StoredSession> = stored.sessions.iter().map(StoredSession::from).collect(),
        /// What the platform granted in the user's name; null if nothing is stored.
        #[schema(required)]
        grant: Option<StoredGrant> = stored.grant.as_ref().map(StoredGrant::from),
        /// The user's platform roles, as the bot reported them, by guild.
        members: Vec<StoredMember> = stored.members.iter().map(StoredMember::from).collect(),
        /// The user's subscription; null if there is none.
        #[schema(required)]
        plus: Option<StoredSubscription> = stored.subscription.as_ref().map(StoredSubscription::from),
        /// Staff grants of the user.
        #[schema(examples(json!(["SUPPORT"])))]
        staff: Vec<&'static str> =
            stored.staff.iter().flat_map(|grants| grants.iter()).map(|grant| grant.as_str()).collect(),
        /// Feedback of the user, by id.
        feedback: Vec<StoredFeedback<'a>> = stored.feedback.iter().map(StoredFeedback::from).collect(),
        /// Changes of settings by the user, by guild. Forgetting keeps them, without the user.
        settings: Vec<StoredChange<'a>> = stored.settings.iter().map(StoredChange::from).collect(),
    }

    /// A stored session.
    pub(crate) struct StoredSession(session: &Session) {
        /// The session's id: the SHA-256 of its token.
        #[schema(pattern = "^[0-9a-f]{64}$")]
        id: String = session.id.to_string(),
        /// When it was created, in seconds since 1970.
        #[schema(examples(1_700_000_000))]
        created: i64 = session.created_at.seconds(),
        /// When it was last used, as last written to the store, in seconds since 1970.
        #[schema(examples(1_700_000_000))]
        seen: i64 = session.last_seen_at.seconds(),
        /// The `User-Agent` of its sign-in, at most 256 characters; null if unknown.
        #[schema(
            required,
            max_length = 256,
            examples("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")
        )]
        user_agent: Option<String> = session.user_agent.as_ref().map(ToString::to_string),
    }

    /// A grant of the platform. Its tokens are sealed and never shown.
    pub(crate) struct StoredGrant(grant: &GrantSummary) {
        /// Whether the platform's sealed tokens are stored.
        tokens: bool = grant.renewable,
        /// The display name at the sign-in; null if it is not stored.
        #[schema(required, examples("Night Owl"))]
        name: Option<String> = grant.profile.as_ref().map(|profile| profile.name.to_string()),
        /// URL of the picture at the sign-in; null if it is not stored.
        #[schema(required, examples("https://cdn.example/embed/avatars/1.png"))]
        avatar: Option<String> = grant.profile.as_ref().map(|profile| profile.avatar.to_string()),
        /// When the platform's list of guilds was fetched, in seconds since 1970; null if it was not.
        #[schema(required, examples(1_700_000_000))]
        fetched: Option<i64> = grant.list.as_ref().map(|list| list.fetched_at.seconds()),
        /// The platform's list of guilds.
        guilds: Vec<StoredMembership> =
            grant.list.iter().flat_map(|list| list.memberships.iter()).map(StoredMembership::from).collect(),
        /// Guilds of that list that the user manages and that lacked the bot, at most 200.
        without_bot: Vec<StoredNamedGuild> =
            grant.list.iter().flat_map(|list| &list.without_bot).map(StoredNamedGuild::from).collect(),
    }

    /// A guild in the platform's list.
    pub(crate) struct StoredMembership(membership: &Membership) {
        guild: Snowflake = membership.guild.into(),
        /// Whether the user owns it.
        owner: bool = membership.owner,
        /// The platform's permission bits of the user there, as a decimal number in a string.
        #[schema(pattern = "^[0-9]{1,20}$", examples("32"))]
        permissions: String = membership.permissions.bits().to_string(),
    }

    /// The name of a guild without the bot.
    pub(crate) struct StoredNamedGuild(named: &NamedGuild) {
        guild: Snowflake = named.guild.into(),
        #[schema(examples("Night Owls"))]
        name: String = named.name.to_string(),
        /// URL of the icon; null if there is none.
        #[schema(required, examples("https://cdn.example/icons/1/cafe.png"))]
        icon: Option<String> = named.icon.as_ref().map(ToString::to_string),
    }

    /// The user's platform roles in a guild.
    pub(crate) struct StoredMember(member: &Member) {
        guild: Snowflake = member.guild.into(),
        roles: Vec<Snowflake> = snowflakes(member.roles.as_slice()),
    }

    /// A subscription.
    pub(crate) struct StoredSubscription(subscription: &Subscription) {
        guilds: Vec<Snowflake> = snowflakes(subscription.guilds.as_slice()),
        #[schema(minimum = 0, examples(2))]
        slots: u32 = subscription.slots.get(),
    }

    /// A feedback entry of any rating.
    pub(crate) struct StoredFeedback<'a>(entry: &'a Feedback) {
        #[schema(pattern = "^[A-Za-z0-9_-]{1,64}$", examples("f-1"))]
        id: &'a str = entry.id.as_str(),
        /// The text; empty for a rating without one.
        #[schema(max_length = 4000, examples("Set up in five minutes."))]
        feedback: &'a str = entry.text.as_str(),
        #[schema(minimum = 1, maximum = 5, examples(5))]
        rating: u8 = entry.rating.stars(),
        /// When it was submitted, in seconds since 1970.
        #[schema(minimum = 0, examples(1_700_000_000))]
        timestamp: i64 = entry.submitted_at.seconds(),
        submitter: User<'a> = (&entry.submitter).into(),
    }
}
