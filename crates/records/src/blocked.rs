//! Users who may not use the service.

use crate::record::record;
use companion_domain::model::UserId;

/// A blocked user, of whom nothing more is said.
type Blocked = (UserId,);

record! {
    /// A user who may not use the service.
    pub BlockedRecord("blocked") of Blocked {
        key {
            /// The user's id.
            user ["user"] in "user": UserId = 0;
        }
        fields {}
        example {}
    }
    (user,)
}
