//! Blocks and altered grants, from the database to the response.
//!
//! Each test runs the whole program in this process: a SQLite file, the OAuth adapter against a real server on
//! loopback, data fed through the management API, and controlled clocks on both sides. The rules themselves are tested
//! in `companion_domain`, and the use cases in `companion_testkit`.

use crate::served::{Answer, Client, Served, application, database, identity, layers, start_platform};
use companion_dev_identity::{Account, AccountGuild, Control, Options, Running};
use companion_domain::{
    model::UserId,
    port::{GrantContent, Sealed},
};
use companion_testkit::clock::FixedClock;
use serde_json::json;
use std::{sync::Arc, time::Duration};
use tempfile::TempDir;

const USER: u64 = 190_000_000_000_000_007;
const OTHER: u64 = 190_000_000_000_000_008;
const GUILD: u64 = 500;
/// Age at which a list is refreshed.
const REFRESH_AFTER: Duration = Duration::from_secs(60);
const SECRET: &str = "sample secret";
const MANAGEMENT_KEY: &str = "sample-management-key";

/// A service, a platform and their controls. The bot is in one guild, which every user owns.
struct Stage {
    platform: Running,
    control: Control,
    served: Served,
    clock: Arc<FixedClock>,
    _folder: TempDir,
}

impl Stage {
    async fn new() -> Self {
        let platform = start_platform(Options {
            clients: vec![application(SECRET)],
            users: Vec::new(),
            clock_stands_still: true,
            ..Options::default()
        });
        let folder = tempfile::tempdir().unwrap();
        let layers = layers(&platform.api_url(), SECRET, &database(folder.path()))
            .with("COMPANION_LOG__LEVEL", "error")
            .with("COMPANION_HTTP__WORKERS", "1")
            .with("COMPANION_MANAGEMENT__KEY", MANAGEMENT_KEY);
        let clock = Arc::new(FixedClock::default());
        let served = Served::start(&layers, |adapters| {
            adapters.clock = clock.clone();
            adapters.identity = identity(&platform, SECRET, clock.clone());
        })
        .await;
        let stage = Self { control: platform.control(), platform, served, clock, _folder: folder };
        let guild = json!({
            "name": "Owls", "icon": null, "members": 1, "owner": "42", "setup": false, "linked": false, "roles": {},
        });
        stage.manage("PUT", &format!("/bot/guilds/{GUILD}"), &guild.to_string()).await;
        stage
    }

    /// Advances both clocks.
    fn pass(&self, length: Duration) {
        self.clock.advance(length);
        self.control.forward(length);
    }

    /// Creates a platform user who owns the guild, and signs the user in. Returns the token.
    async fn arrives(&self, user: u64) -> String {
        let guild =
            AccountGuild { id: GUILD, name: "Owls".to_owned(), icon: None, owner: true, permissions: 0 };
        let username = format!("user_{user}");
        self.control.put_user(Account {
            id: user,
            username,
            global_name: None,
            avatar: None,
            guilds: vec![guild],
        });
        let code = self.control.mint_code(user);
        let answer = Client::connect(self.served.public).await.sign_in(&code).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.token()
    }

    /// Sends `GET /guilds`.
    async fn ask(&self, token: &str) -> Answer {
        Client::connect(self.served.public).await.send("GET", "/guilds", &[("Token", token)]).await
    }

    async fn shows_the_guild(&self, token: &str) -> bool {
        let answer = self.ask(token).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.data()[0]["name"] == "Owls"
    }

    /// Sends a request to the management API.
    async fn manage(&self, method: &str, path: &str, body: &str) {
        let bearer = format!("Bearer {MANAGEMENT_KEY}");
        let mut client = Client::connect(self.served.management).await;
        let answer = client.send_with(method, path, &[("Authorization", &bearer)], body).await;
        assert_eq!(answer.status, 200, "{method} {path}: {}", answer.body);
    }

    async fn stored(&self, user: u64) -> GrantContent {
        let grants = &self.served.adapters.stores.grants;
        grants.find(UserId::new(user).unwrap()).await.unwrap().unwrap().content
    }

    async fn store(&self, user: u64, content: &GrantContent) {
        self.served.adapters.stores.grants.replace(UserId::new(user).unwrap(), content).await.unwrap();
    }

    /// Asserts the effect of an altered grant: the list is served while it is fresh, then the request fails with a
    /// server error. Nothing is sent to the platform, and the session does not end.
    async fn grant_does_not_open(&self, token: &str) {
        assert!(self.shows_the_guild(token).await);
        let before = self.control.all_calls();
        for _ in 0..2 {
            self.pass(REFRESH_AFTER);
            let answer = self.ask(token).await;
            assert_eq!((answer.status, answer.word().as_str()), (500, "internal"), "{}", answer.body);
        }
        assert_eq!(self.control.all_calls(), before);
    }

    async fn stop(self) {
        self.served.stop().await;
        self.platform.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_blocked_session_is_refused_at_once_until_unblocked() {
    let stage = Stage::new().await;
    let (token, other) = (stage.arrives(USER).await, stage.arrives(OTHER).await);
    let path = format!("/bot/blocked/{USER}");
    stage.manage("PUT", &path, "").await;
    let refused = stage.ask(&token).await;
    assert_eq!((refused.status, refused.word().as_str()), (403, "blocked"));
    assert!(stage.shows_the_guild(&other).await);
    stage.manage("DELETE", &path, "").await;
    assert!(stage.shows_the_guild(&token).await, "a block is no sign-out");
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn grants_swapped_between_users_open_for_neither() {
    let stage = Stage::new().await;
    let (one, other) = (stage.arrives(USER).await, stage.arrives(OTHER).await);
    let (first, second) = (stage.stored(USER).await, stage.stored(OTHER).await);
    stage.store(USER, &second).await;
    stage.store(OTHER, &first).await;
    stage.grant_does_not_open(&one).await;
    assert_eq!(stage.ask(&other).await.status, 500);
    // Signing in again repairs it, for old sessions too.
    stage.arrives(USER).await;
    assert!(stage.shows_the_guild(&one).await);
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_altered_grant_does_not_open() {
    let stage = Stage::new().await;
    let token = stage.arrives(USER).await;
    let bytes = stage.stored(USER).await.tokens.unwrap().as_bytes().to_vec();
    let mut flipped = bytes.clone();
    flipped[bytes.len() / 2] ^= 1;
    for altered in [flipped, bytes[..bytes.len() - 1].to_vec(), Vec::new()] {
        stage.arrives(USER).await;
        let fresh = stage.stored(USER).await;
        stage.store(USER, &GrantContent { tokens: Some(Sealed::from_bytes(altered)), ..fresh }).await;
        stage.grant_does_not_open(&token).await;
    }
    stage.stop().await;
}
