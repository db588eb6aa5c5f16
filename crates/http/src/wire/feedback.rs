//! Feedback.

use super::{User, list::bounded_list};
use companion_domain::model::Feedback;
use serde::Serialize;
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
