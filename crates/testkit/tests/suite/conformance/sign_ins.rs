//! Wrong keepers of sessions and grants that belong together.

use crate::conformance::proof::{a_turn, a_while, faults, stores, with};
use async_trait::async_trait;
use companion_domain::{
    change::{Changes, Kind, Revision},
    model::UserId,
    port::{ChangeFeed, GrantContent, GrantStore, GrantVersion, SessionStore, SignIns, StoreError, Stores},
    session::{Cutoffs, Session},
};
use companion_testkit::conformance::Fresh;
use std::{num::NonZeroU32, sync::Arc};

faults! {
    enum Fault { SessionFirst }
    sign_ins(Fresh::new(Arc::new(stores())), wrong) {
        a_sign_in_writes_the_session_and_the_grant: SessionOnly "the grant is forgotten";
        a_write_that_is_given_up_leaves_both_or_neither:
            [Fault::SessionFirst] "a sign-in can be cut between the session and the grant",
            EndsInSteps "an end that is given up leaves sessions without a grant",
            EndsOneByOne "sessions without a grant end one by one";
        no_reader_sees_one_without_the_other:
            [Fault::SessionFirst] "the session is seen before its grant",
            GrantFirst "the grant is seen before its session";
        a_sign_in_replaces_the_grant_and_ends_its_claim: GrantKept "an earlier grant stays";
        a_sign_in_keeps_to_the_cap_as_a_session_alone_does: NoCap "the cap is forgotten";
        an_id_that_exists_is_a_conflict_and_writes_neither: ConflictWritesGrant "a refused sign-in replaces the grant";
        only_the_current_version_of_a_grant_is_ended: EndsAnyVersion "a newer sign-in is ended with the old grant";
        the_end_of_a_grant_ends_the_sessions_of_its_user_and_of_nobody_else:
            EndKeepsSessions "sessions outlive their grant";
        sessions_without_a_grant_are_ended_and_others_stay: EndsTheGranted "sessions that have a grant are ended";
        of_ends_at_once_each_session_is_told_to_one: EndedTwice "two callers are told of the same end";
        very_many_sessions_end_with_their_grant: EndsTen "ten sessions at most end with their grant";
        whatever_began_and_ended_is_told_of: Untold "a new session is not told of";
    }
}

fn wrong(fault: Fault) -> Fresh<Stores> {
    with(|stores| {
        let (sessions, grants) = (stores.sessions.clone(), stores.grants.clone());
        let inner = stores.sign_ins.clone();
        match fault {
            Fault::Untold => stores.changes = Arc::new(Silent(stores.changes.clone())),
            _ => {
                let turn = tokio::sync::Mutex::default();
                stores.sign_ins = Arc::new(Wrong { inner, sessions, grants, fault, turn });
            }
        }
    })
}

struct Wrong {
    inner: Arc<dyn SignIns>,
    sessions: Arc<dyn SessionStore>,
    grants: Arc<dyn GrantStore>,
    fault: Fault,
    turn: tokio::sync::Mutex<()>,
}

#[async_trait]
impl SignIns for Wrong {
    async fn begin(
        &self,
        session: &Session,
        cap: NonZeroU32,
        ended: Cutoffs,
        grant: &GrantContent,
    ) -> Result<Vec<Session>, StoreError> {
        let create = self.sessions.create(session, cap, ended);
        match self.fault {
            Fault::SessionOnly => create.await,
            Fault::SessionFirst => {
                let gone = create.await?;
                a_while().await;
                self.grants.replace(session.user, grant).await?;
                Ok(gone)
            }
            Fault::GrantFirst => {
                self.grants.replace(session.user, grant).await?;
                a_while().await;
                create.await
            }
            Fault::GrantKept if self.grants.find(session.user).await?.is_some() => create.await,
            Fault::NoCap => self.inner.begin(session, NonZeroU32::MAX, ended, grant).await,
            Fault::ConflictWritesGrant => {
                let begun = self.inner.begin(session, cap, ended, grant).await;
                if begun.is_err() {
                    self.grants.replace(session.user, grant).await?;
                }
                begun
            }
            Fault::EndsInSteps => {
                let _turn = self.turn.lock().await;
                self.inner.begin(session, cap, ended, grant).await
            }
            _ => self.inner.begin(session, cap, ended, grant).await,
        }
    }

    async fn end(&self, user: UserId, version: GrantVersion) -> Result<Option<Vec<Session>>, StoreError> {
        match self.fault {
            Fault::EndsAnyVersion => {
                let current = self.grants.find(user).await?.map_or(version, |grant| grant.version);
                self.inner.end(user, current).await
            }
            Fault::EndKeepsSessions => {
                let sessions = self.sessions.of_user(user).await?;
                Ok(self.grants.remove(user, version).await?.then_some(sessions))
            }
            Fault::EndsTen => {
                let mut sessions = self.sessions.of_user(user).await?;
                if !self.grants.remove(user, version).await? {
                    return Ok(None);
                }
                sessions.truncate(10);
                for session in &sessions {
                    self.sessions.revoke(&session.id).await?;
                }
                Ok(Some(sessions))
            }
            Fault::EndsInSteps => {
                let _turn = self.turn.lock().await;
                if !self.grants.remove(user, version).await? {
                    return Ok(None);
                }
                a_turn().await;
                self.sessions.revoke_user(user).await.map(Some)
            }
            Fault::EndedTwice => {
                let sessions = self.sessions.of_user(user).await?;
                a_while().await;
                self.inner.end(user, version).await?;
                Ok(Some(sessions))
            }
            _ => self.inner.end(user, version).await,
        }
    }

    async fn end_without_grant(&self, user: UserId) -> Result<Option<Vec<Session>>, StoreError> {
        match self.fault {
            Fault::EndsOneByOne if self.grants.find(user).await?.is_none() => {
                let mut ended = Vec::new();
                for session in self.sessions.of_user(user).await? {
                    ended.extend(self.sessions.revoke(&session.id).await?);
                    a_turn().await;
                }
                Ok(Some(ended))
            }
            Fault::EndsTheGranted => self.sessions.revoke_user(user).await.map(Some),
            _ => self.inner.end_without_grant(user).await,
        }
    }
}

/// Tells of no session.
struct Silent(Arc<dyn ChangeFeed>);

#[async_trait]
impl ChangeFeed for Silent {
    async fn latest(&self) -> Result<Revision, StoreError> {
        self.0.latest().await
    }

    async fn since(&self, revision: Revision) -> Result<Changes, StoreError> {
        let mut changes = self.0.since(revision).await?;
        if let Changes::Listed(changes) = &mut changes {
            changes.retain(|change| change.subject.kind() != Kind::Session);
        }
        Ok(changes)
    }
}
