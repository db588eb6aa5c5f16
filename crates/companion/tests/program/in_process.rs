//! The service in this very process, on adapters of the test's choice.

use crate::{
    http,
    stage::{InProcess, until},
};
use companion_domain::{
    model::{Roster, TeamMember, Timestamp, User, UserId},
    port::{Clock, Health, Mutation, StoreError},
};
use companion_storage_memory::MemoryIdentity;
use std::{
    net::TcpStream,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, Ordering},
    },
    time::Duration,
};
use tokio::runtime::Runtime;

/// A store that is well as long as it is told to be.
struct Moody(AtomicBool);

#[async_trait::async_trait]
impl Health for Moody {
    async fn check(&self) -> Result<(), StoreError> {
        if self.0.load(Ordering::SeqCst) { Ok(()) } else { Err(StoreError::unavailable("moody")) }
    }
}

/// A clock that the test moves.
struct Hand(AtomicI64);

impl Clock for Hand {
    fn now(&self) -> Timestamp {
        Timestamp::from_seconds(self.0.load(Ordering::SeqCst)).unwrap()
    }

    fn monotonic(&self) -> Duration {
        self.now().since(Timestamp::EPOCH)
    }
}

fn someone() -> User {
    User {
        id: UserId::new(7).unwrap(),
        username: "sample_user".parse().unwrap(),
        name: "Sample User".parse().unwrap(),
        avatar: "https://cdn.example/7.png".parse().unwrap(),
    }
}

#[test]
fn readiness_follows_the_store_and_ends_with_the_service() {
    let store = Arc::new(Moody(AtomicBool::new(true)));
    let running = InProcess::start(|adapters| adapters.stores.health = store.clone());
    let (public, management) = (running.public.clone(), running.management.clone());
    let ready = || http::get(&management, "/health/ready", &[]).status;
    assert_eq!(ready(), 200);
    store.0.store(false, Ordering::SeqCst);
    assert_eq!(ready(), 503);
    let told = http::get(&management, "/health/ready", &[]).body["message"].to_string();
    assert!(told.contains("moody"), "{told}");
    // A store that fails is no reason to be restarted, nor to keep silent.
    assert_eq!(http::get(&management, "/health/live", &[]).status, 200);
    assert_eq!(http::get(&public, "/team", &[]).status, 200);
    store.0.store(true, Ordering::SeqCst);
    assert_eq!(ready(), 200);
    running.stop();
    assert!(TcpStream::connect(&public).is_err());
    assert!(TcpStream::connect(&management).is_err());
}

#[test]
fn what_another_process_writes_shows_by_itself() {
    let running = InProcess::start(|_| {});
    let member = TeamMember {
        user: someone(),
        role: "Helper".parse().unwrap(),
        color: "#112233".parse().unwrap(),
        category: "Support".parse().unwrap(),
        position: 1,
    };
    let team = || http::get(&running.public, "/team", &[]).body["data"].as_array().unwrap().len();
    assert_eq!(team(), 0);
    // Straight into the store: no use case of this process hears of it.
    let roster = Roster::new(vec![member]).unwrap();
    Runtime::new()
        .unwrap()
        .block_on(running.adapters.stores.records.write(Mutation::ReplaceTeam(roster)))
        .unwrap();
    until("the team is shown", Duration::from_secs(10), || team() > 0);
    running.stop();
}

#[test]
fn stopping_writes_back_which_sessions_were_used() {
    let clock = Arc::new(Hand(AtomicI64::new(1_000_000)));
    let mut identity = None;
    let running = InProcess::start(|adapters| {
        let platform = Arc::new(MemoryIdentity::new(clock.clone(), adapters.entropy.clone()));
        platform.put_user(someone(), Vec::new());
        adapters.clock = clock.clone();
        adapters.identity = platform.clone();
        identity = Some(platform);
    });
    let code = identity.unwrap().issue_code(someone().id);
    let session = http::ask(&running.public, "POST", "/auth", &[("Idp-Code", &code)]).body;
    clock.0.fetch_add(4000, Ordering::SeqCst);
    let token = session["data"]["token"].as_str().unwrap();
    assert_eq!(http::get(&running.public, "/guilds", &[("Token", token)]).status, 200);
    let sessions = running.adapters.stores.sessions.clone();
    running.stop();
    let stored = Runtime::new().unwrap().block_on(sessions.of_user(someone().id)).unwrap();
    assert_eq!(stored[0].last_seen_at, clock.now());
    assert!(stored[0].last_seen_at > stored[0].created_at);
}
