//! Sign-ins that begin and end through a node show there at once, before anything was heard of them from the store.

use crate::node::{Node, PLENTY, grant};
use async_trait::async_trait;
use companion_domain::{
    model::UserId,
    port::{GrantVersion, Record, SignIns, StoreError},
    session::{Cutoffs, Session},
};
use companion_testkit::{
    over::{Over, SignInsOver},
    use_cases::InMemory,
    world::{a_guild, a_session, at, user_id},
};
use std::{num::NonZeroU32, sync::Arc};

/// No session is over.
fn never() -> Cutoffs {
    Cutoffs { created: at(0), seen: at(0), ahead: at(9) }
}

/// Sign-ins that end, although nobody is told that they did.
struct EndUnheard(Arc<dyn SignIns>);

#[async_trait]
impl SignInsOver for EndUnheard {
    fn sign_ins(&self) -> &dyn SignIns {
        &*self.0
    }

    async fn end(&self, user: UserId, version: GrantVersion) -> Result<Option<Vec<Session>>, StoreError> {
        self.0.end(user, version).await?;
        Err(StoreError::unavailable("cut off"))
    }

    async fn end_without_grant(&self, user: UserId) -> Result<Option<Vec<Session>>, StoreError> {
        self.0.end_without_grant(user).await?;
        Err(StoreError::unavailable("cut off"))
    }
}

/// A node that hears nothing of what is written, with one user who is signed in.
struct Scene {
    node: Arc<Node>,
    session: Session,
}

impl Scene {
    async fn new(is_heard: bool) -> Self {
        let mut ports = InMemory::new().ports;
        if !is_heard {
            ports.stores.sign_ins = Arc::new(Over(EndUnheard(ports.stores.sign_ins)));
        }
        ports.stores.records.put(Record::Guild(a_guild(1))).await.unwrap();
        let node = Node::over(&ports, PLENTY);
        node.settle().await;
        let scene = Self { node, session: a_session(1, 1, at(1)) };
        assert_eq!(scene.shown().await, (false, 0));
        let sign_ins = &scene.node.stores.sign_ins;
        sign_ins.begin(&scene.session, NonZeroU32::MIN, never(), &grant(&[1])).await.unwrap();
        assert_eq!(scene.shown().await, (true, 1));
        scene
    }

    /// Whether the session is there, and how many guilds are listed.
    async fn shown(&self) -> (bool, usize) {
        let session = self.node.stores.sessions.find(&self.session.id).await.unwrap();
        (session.is_some(), self.node.listing(user_id(1)).await.unwrap().guilds.len())
    }
}

#[tokio::test(start_paused = true)]
async fn a_sign_in_that_has_ended_is_over_here_at_once_heard_or_not() {
    for is_heard in [true, false] {
        let scene = Scene::new(is_heard).await;
        let version = scene.node.stores.grants.find(user_id(1)).await.unwrap().unwrap().version;
        let ended = scene.node.stores.sign_ins.end(user_id(1), version).await;
        assert_eq!(ended.is_ok(), is_heard);
        assert_eq!(scene.shown().await, (false, 0), "heard: {is_heard}");
    }
}

#[tokio::test(start_paused = true)]
async fn so_is_one_whose_grant_went_before() {
    for is_heard in [true, false] {
        let scene = Scene::new(is_heard).await;
        let grants = &scene.node.stores.grants;
        let version = grants.find(user_id(1)).await.unwrap().unwrap().version;
        assert!(grants.remove(user_id(1), version).await.unwrap());
        assert_eq!(scene.shown().await, (true, 0));
        let ended = scene.node.stores.sign_ins.end_without_grant(user_id(1)).await;
        assert_eq!(ended.is_ok(), is_heard);
        assert_eq!(scene.shown().await, (false, 0), "heard: {is_heard}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_sign_in_that_takes_the_place_of_another_ends_it_here_at_once() {
    let scene = Scene::new(true).await;
    let next = a_session(2, 1, at(2));
    let ended = scene.node.stores.sign_ins.begin(&next, NonZeroU32::MIN, never(), &grant(&[])).await.unwrap();
    assert_eq!(ended, std::slice::from_ref(&scene.session));
    assert_eq!(scene.shown().await, (false, 0));
}
