//! People.

use crate::record::record;
use companion_domain::model::{Name, User, UserId, WebUrl};

record! {
    /// A user of the chat platform.
    pub UserRecord("user") of User {
        key {}
        fields {
            /// The unique name.
            username ["username"]: Name = username;
            /// The name that others see.
            name ["name"]: Name = name;
            /// The identity provider's id of the user.
            id ["id"]: UserId = id;
            /// The address of a picture.
            avatar ["avatar"]: WebUrl = avatar;
        }
        example {
            "username": "night_owl", "name": "Night Owl", "id": "190000000000000004",
            "avatar": "https://cdn.example/embed/avatars/1.png"
        }
    }
    User { id, username, name, avatar }
}
