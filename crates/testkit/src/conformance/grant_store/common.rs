//! What the behaviours have in common.

use crate::conformance::sample::user_id;
use companion_domain::{model::UserId, port::GrantVersion};

pub(super) const USER: u64 = 1;

pub(super) fn alice() -> UserId {
    user_id(USER)
}

/// A version that no store has given to this grant.
pub(super) const fn another(version: GrantVersion) -> GrantVersion {
    GrantVersion(version.0 + 1000)
}
