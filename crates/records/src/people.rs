//! Users, blocked users, staff and feedback.

use crate::{
    record::{Nested, record},
    values::Seconds,
};
use companion_domain::model::{
    Feedback, FeedbackId, Name, Prose, Rating, StaffPermissions, User, UserId, WebUrl,
};

record! {
    /// A user of the chat platform.
    pub UserRecord of User {
        fields {
            /// The unique name.
            username ["username"]: Name = username;
            /// The display name.
            name ["name"]: Name = name;
            /// The identity provider's id of the user.
            id ["id"]: UserId = id;
            /// The URL of a picture.
            avatar ["avatar"]: WebUrl = avatar;
        }
    }
    User { id, username, name, avatar }
}

/// A blocked user, without further fields.
type Blocked = (UserId,);

record! {
    /// A blocked user.
    pub BlockedRecord of Blocked {
        key {
            /// The user's id.
            user ["user"] in "user": UserId = 0;
        }
        fields {}
        example {}
    }
    (user,)
}

record! {
    /// Permissions granted to a user by name.
    pub StaffRecord of (UserId, StaffPermissions) {
        key {
            /// The user's id.
            user ["user"] in "user": UserId = 0;
        }
        fields {
            /// Names of permissions.
            grants ["permissions"]: StaffPermissions = 1;
        }
        example {"permissions": ["SUPPORT", "DOCWRITER"]}
    }
    (user, grants)
}

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
