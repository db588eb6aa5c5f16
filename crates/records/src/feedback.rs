//! Feedback.

use crate::{
    record::{Nested, record},
    user::UserRecord,
    values::Seconds,
};
use companion_domain::model::{Feedback, FeedbackId, Prose, Rating};

record! {
    /// An entry of feedback, with any rating.
    pub FeedbackRecord of Feedback {
        key {
            /// The entry's id. Chosen by the bot.
            id ["id"] in "id": FeedbackId = id;
        }
        fields {
            /// The text. May be empty.
            text ["feedback"]: Prose = text;
            /// The number of stars.
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
