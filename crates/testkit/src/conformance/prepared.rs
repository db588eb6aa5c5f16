//! Grants and sessions that behaviours begin with.

use super::{
    Stores,
    sample::{NONE_ENDED, TEN, at, session},
    stream::Stream,
};
use companion_domain::{
    change::Kind,
    model::UserId,
    port::{GrantContent, GrantVersion, Record, Replace},
    session::Session,
};

/// Signs a user in.
pub(super) async fn begin(stores: &Stores, session: &Session, grant: &GrantContent) -> Vec<Session> {
    stores.sign_ins.begin(session, TEN, NONE_ENDED, grant).await.unwrap()
}

/// Writes a grant, by a sign-in whose session ends at once. Returns the version of the grant.
pub async fn granted(stores: &Stores, user: UserId, grant: &GrantContent) -> GrantVersion {
    let session = session(u64::MAX - user.get(), user, at(0));
    begin(stores, &session, grant).await;
    stores.sessions.revoke(&session.id).await.unwrap();
    version_of(stores, user).await.unwrap()
}

/// Removes all grants, and no session.
pub async fn remove_grants(stores: &Stores) {
    let replace = Replace { kinds: [Kind::Grant].into(), shard: None };
    stores.records.sync(&replace, &mut Stream::of([])).await.unwrap();
}

/// Adds sessions, and no grant.
pub async fn add_sessions(stores: &Stores, sessions: impl IntoIterator<Item = Session>) {
    let mut records = Stream::in_batches(sessions.into_iter().map(Record::Session), 500);
    stores.records.sync(&Replace::default(), &mut records).await.unwrap();
}

pub(super) async fn version_of(stores: &Stores, user: UserId) -> Option<GrantVersion> {
    stores.grants.find(user).await.unwrap().map(|grant| grant.version)
}
