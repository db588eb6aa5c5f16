//! Permissions that are granted by name.

use crate::record::record;
use companion_domain::model::{StaffGrants, UserId};

record! {
    /// What a user is granted by name.
    pub StaffRecord("staff") of (UserId, StaffGrants) {
        key {
            /// The user's id.
            user ["user"] in "user": UserId = 0;
        }
        fields {
            /// The names of permissions.
            grants ["permissions"]: StaffGrants = 1;
        }
        example {"permissions": ["SUPPORT", "DOCWRITER"]}
    }
    (user, grants)
}
