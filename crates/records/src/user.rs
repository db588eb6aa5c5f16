//! Users, blocked users and staff.

use crate::record::record;
use companion_domain::model::{Name, StaffPermissions, User, UserId, WebUrl};

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
