//! Feedback.

use super::User;
use companion_domain::model::Feedback;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What someone likes about the bot.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FeedbackEntry<'a> {
    /// The words; a rating may come without any.
    #[schema(max_length = 4000, examples("Set up in five minutes."))]
    feedback: &'a str,
    /// The stars. Only four and five are shown.
    #[schema(minimum = 4, maximum = 5, examples(5))]
    rating: u8,
    /// When it was submitted, in seconds since 1970.
    #[schema(minimum = 0, examples(1_700_000_000))]
    timestamp: i64,
    submitter: User<'a>,
}

bounded_list! {
    /// A few entries.
    PickedFeedback of FeedbackEntry, 5
}

impl<'a> From<&'a Feedback> for FeedbackEntry<'a> {
    fn from(entry: &'a Feedback) -> Self {
        Self {
            feedback: entry.text.as_str(),
            rating: entry.rating.stars(),
            timestamp: entry.submitted_at.seconds(),
            submitter: (&entry.submitter).into(),
        }
    }
}

/// An entry as it is shown, read back from an answer that is kept in memory.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ShownFeedback {
    /// The words; a rating may come without any.
    #[serde(rename = "feedback")]
    pub text: String,
    /// The stars.
    pub rating: u8,
    /// When it was submitted, in seconds since 1970.
    pub timestamp: i64,
    /// Whose words they are.
    pub submitter: Submitter,
}

/// Whoever left feedback, as they are shown.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Submitter {
    /// Their name.
    pub name: String,
    /// The address of their picture.
    pub avatar: String,
}

impl ShownFeedback {
    /// The entries of a whole answer.
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
