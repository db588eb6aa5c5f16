//! Feedback.

use crate::{
    record::{Nested, record},
    user::UserRecord,
    values::Seconds,
};
use companion_domain::model::{Feedback, FeedbackId, Prose, Rating};

record! {
    /// An entry of feedback. Here it may have any rating.
    pub FeedbackRecord of Feedback {
        key {
            /// The entry's id, which the bot chooses.
            id ["id"] in "id": FeedbackId = id;
        }
        fields {
            /// The words; a rating may come without any.
            text ["feedback"]: Prose = text;
            /// The stars.
            rating ["rating"]: Rating = rating;
            /// When it was submitted, in seconds since 1970; a fraction is dropped.
            submitted_at ["timestamp"]: Seconds = submitted_at;
            submitter ["submitter"]: Nested<UserRecord> = submitter;
        }
        example {
            "feedback": "Set up in five minutes.", "rating": 5, "timestamp": 1_700_000_000,
            "submitter": {
                "username": "night_owl", "name": "Night Owl", "id": "190000000000000004",
                "avatar": "https://cdn.example/embed/avatars/1.png"
            }
        }
    }
    Feedback { id, text, rating, submitted_at, submitter }
}
