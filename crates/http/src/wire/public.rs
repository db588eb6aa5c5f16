//! Shapes of public data: ids, feedback and the team.

use super::User;
use companion_domain::model::{self, Feedback, GuildId, RoleId, UserId};
use serde::{Deserialize, Serialize, Serializer};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ArrayBuilder, Ref, RefOr, Schema},
};

/// An id of the platform: a 64-bit number above zero, as text.
#[derive(ToSchema)]
#[schema(value_type = String, pattern = "^[1-9][0-9]{0,19}$", examples("190000000000000001"))]
pub struct Snowflake(u64);

impl From<UserId> for Snowflake {
    fn from(id: UserId) -> Self {
        Self(id.get())
    }
}

impl From<GuildId> for Snowflake {
    fn from(id: GuildId) -> Self {
        Self(id.get())
    }
}

impl From<RoleId> for Snowflake {
    fn from(id: RoleId) -> Self {
        Self(id.get())
    }
}

impl Serialize for Snowflake {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// Converts ids of one kind.
pub fn snowflakes<T: Copy + Into<Snowflake>>(ids: &[T]) -> Vec<Snowflake> {
    ids.iter().copied().map(T::into).collect()
}

/// A list whose schema has a maximum number of items.
#[derive(Serialize)]
pub(crate) struct Bounded<T, const MAX: usize>(pub(crate) Vec<T>);

impl<T: ToSchema, const MAX: usize> PartialSchema for Bounded<T, MAX> {
    fn schema() -> RefOr<Schema> {
        ArrayBuilder::new().items(Ref::from_schema_name(T::name())).max_items(Some(MAX)).into()
    }
}

impl<T: ToSchema, const MAX: usize> ToSchema for Bounded<T, MAX> {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((T::name().into(), T::schema()));
        T::schemas(schemas);
    }
}

/// A few entries.
pub(crate) type PickedFeedback<'a> = Bounded<FeedbackEntry<'a>, 5>;

/// The whole team.
pub(crate) type ShownTeam<'a> = Bounded<TeamMember<'a>, { model::Roster::MAX }>;

shapes! {
    /// A feedback entry about the bot.
    pub(crate) struct FeedbackEntry<'a>(entry: &'a Feedback) {
        /// The text; empty for a rating without one.
        #[schema(max_length = 4000, examples("Set up in five minutes."))]
        feedback: &'a str = entry.text.as_str(),
        /// The number of stars. Only entries with four or five are shown.
        #[schema(minimum = 4, maximum = 5, examples(5))]
        rating: u8 = entry.rating.stars(),
        /// When it was submitted, in seconds since 1970.
        #[schema(minimum = 0, examples(1_700_000_000))]
        timestamp: i64 = entry.submitted_at.seconds(),
        submitter: User<'a> = (&entry.submitter).into(),
    }

    /// A member of the team.
    pub(crate) struct TeamMember<'a>(member: &'a model::TeamMember) {
        /// The unique name.
        #[schema(min_length = 1, max_length = 256, examples("night_owl"))]
        username: &'a str = member.user.username.as_str(),
        /// The display name.
        #[schema(min_length = 1, max_length = 256, examples("Night Owl"))]
        name: &'a str = member.user.name.as_str(),
        /// URL of a picture.
        #[schema(
            pattern = "^[Hh][Tt][Tt][Pp][Ss]?://[!-~]+$",
            max_length = 2048,
            examples("https://cdn.example/embed/avatars/1.png")
        )]
        avatar: &'a str = member.user.avatar.as_str(),
        /// The identity provider's id of the user.
        discord_id: Snowflake = member.user.id.into(),
        /// The title of the role.
        #[schema(min_length = 1, max_length = 256, examples("Lead Developer"))]
        role: &'a str = member.role.as_str(),
        /// Colour of the role.
        #[schema(pattern = "^#[0-9A-Fa-f]{6}$", examples("#1ABC9C"))]
        color: &'a str = member.color.as_str(),
        /// Category within the team.
        #[schema(min_length = 1, max_length = 256, examples("Development"))]
        category: &'a str = member.category.as_str(),
        /// Position within the category; lower comes first.
        #[schema(examples(1))]
        position: i32 = member.position,
    }
}

/// A shown entry, parsed back from a response kept in memory.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ShownFeedback {
    /// The text; empty for a rating without one.
    #[serde(rename = "feedback")]
    pub text: String,
    /// The number of stars.
    pub rating: u8,
    /// When it was submitted, in seconds since 1970.
    pub timestamp: i64,
    /// Its author.
    pub submitter: Submitter,
}

/// The author of an entry.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Submitter {
    /// Display name.
    pub name: String,
    /// URL of the picture.
    pub avatar: String,
}

impl ShownFeedback {
    /// Parses the entries of a response body.
    pub(crate) fn of_answer(body: &[u8]) -> Option<Vec<Self>> {
        #[derive(Deserialize)]
        struct Answer {
            data: Vec<ShownFeedback>,
        }
        serde_json::from_slice(body).ok().map(|Answer { data }| data)
    }
}

impl From<&Feedback> for ShownFeedback {
    fn from(entry: &Feedback) -> Self {
        Self {
            text: entry.text.to_string(),
            rating: entry.rating.stars(),
            timestamp: entry.submitted_at.seconds(),
            submitter: Submitter {
                name: entry.submitter.name.to_string(),
                avatar: entry.submitter.avatar.to_string(),
            },
        }
    }
}
