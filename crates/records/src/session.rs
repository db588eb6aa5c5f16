//! Sessions, which only an export of this service contains.

use crate::{format::Optional, record::record, values::Micros};
use companion_domain::{
    model::UserId,
    session::{Session, TokenHash, UserAgent},
};

record! {
    /// A session.
    pub SessionRecord of Session {
        key {
            /// The SHA-256 of its token.
            id ["id"] in "id": TokenHash = id;
        }
        fields {
            user ["user"]: UserId = user;
            /// In microseconds since 1970.
            created_at ["created_at"]: Micros = created_at;
            /// In microseconds since 1970.
            last_seen_at ["last_seen_at"]: Micros = last_seen_at;
            /// The user agent at the sign-in. Absent in files of older versions.
            user_agent ["user_agent"]: Optional<UserAgent> = user_agent;
        }
    }
    Session { id, user, created_at, last_seen_at, user_agent }
}
