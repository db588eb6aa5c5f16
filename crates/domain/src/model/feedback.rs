//! What people think of the bot.

use super::{FeedbackId, Prose, Rating, Timestamp, User};

/// One entry of feedback.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feedback {
    /// The bot's id for it.
    pub id: FeedbackId,
    /// What was written.
    pub text: Prose,
    /// The stars.
    pub rating: Rating,
    /// When it was submitted, to the second.
    pub submitted_at: Timestamp,
    /// By whom, as they were known then.
    pub submitter: User,
}
