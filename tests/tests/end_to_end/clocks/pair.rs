//! Two nodes on one database, each with a clock of its own, and the platform.

use crate::{
    client::{Answer, Client},
    served::{Served, application, database, identity, layers},
};
use companion_dev_identity::{Account, AccountGuild, Control, DevIdentity, Options, Route, Running};
use companion_domain::port::Clock as _;
use companion_testkit::clock::FixedClock;
use serde_json::{Value, json};
use std::{net::TcpListener, sync::Arc, time::Duration};
use tempfile::TempDir;
use tokio::time::{sleep, timeout};

const SECRET: &str = "sample secret";
const MANAGEMENT_KEY: &str = "sample-management-key";
/// What one node does shows on the other within a second; a busy machine may take longer.
const SOON: Duration = Duration::from_secs(20);
const GUILD: u64 = 500;

/// Two nodes, the second of which has a wrong clock.
pub(super) struct Pair {
    pub(super) control: Control,
    platform: Running,
    nodes: [Node; 2],
    _folder: TempDir,
}

pub(super) struct Node {
    pub(super) clock: Arc<FixedClock>,
    served: Served,
}

/// By how much the second clock is wrong.
#[derive(Debug, Clone, Copy)]
pub(super) enum Wrong {
    Behind(Duration),
    Ahead(Duration),
}

impl Pair {
    pub(super) async fn with(wrong: Wrong) -> Self {
        let options = Options {
            clients: vec![application(SECRET)],
            users: Vec::new(),
            clock_stands_still: true,
            ..Options::default()
        };
        let platform = DevIdentity::start(TcpListener::bind("127.0.0.1:0").unwrap(), options).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let right = FixedClock::default();
        let wrong = FixedClock::at(match wrong {
            Wrong::Behind(length) => right.now().before(length),
            Wrong::Ahead(length) => right.now().after(length),
        });
        // One after the other: the first makes the database and the keys beside it.
        let nodes =
            [Node::start(&platform, &folder, right).await, Node::start(&platform, &folder, wrong).await];
        let pair = Self { control: platform.control(), platform, nodes, _folder: folder };
        let guild = json!({"name": "One", "icon": null, "members": 1, "owner": "1", "setup": true, "linked": false,
            "roles": {}});
        pair.nodes[0].manage("PUT", &format!("/bot/guilds/{GUILD}"), &guild).await;
        pair
    }

    pub(super) fn nodes(&self) -> [&Node; 2] {
        self.nodes.each_ref()
    }

    /// Time passes, everywhere.
    pub(super) fn pass(&self, length: Duration) {
        self.control.forward(length);
        for node in &self.nodes {
            node.clock.advance(length);
        }
    }

    /// Someone who owns a guild signs in on a node. Returns the session's token.
    pub(super) async fn signs_in(&self, user: u64, node: &Node) -> String {
        let guild =
            AccountGuild { id: GUILD, name: "One".to_owned(), icon: None, owner: true, permissions: 0 };
        let username = format!("user_{user}");
        self.control.put_user(Account {
            id: user,
            username,
            global_name: None,
            avatar: None,
            guilds: vec![guild],
        });
        let answer = Client::connect(node.served.public).await.sign_in(&self.control.mint_code(user)).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.token()
    }

    /// How often the platform was asked for a list.
    pub(super) fn lists(&self) -> u64 {
        self.control.calls(Route::Guilds)
    }

    pub(super) async fn stop(self) {
        for node in self.nodes {
            node.served.stop().await;
        }
        self.platform.stop().await;
    }
}

impl Node {
    async fn start(platform: &Running, folder: &TempDir, clock: FixedClock) -> Self {
        let clock = Arc::new(clock);
        let layers = layers(&platform.api_url(), SECRET, &database(folder.path()))
            .with("COMPANION_LOG__LEVEL", "error")
            .with("COMPANION_HTTP__WORKERS", "1")
            .with("COMPANION_MANAGEMENT__KEY", MANAGEMENT_KEY);
        let identity = identity(platform, SECRET, clock.clone());
        let served = Served::start(&layers, |adapters| {
            adapters.clock = clock.clone();
            adapters.identity = identity;
        })
        .await;
        Self { clock, served }
    }

    /// `GET /guilds`.
    pub(super) async fn guilds(&self, token: &str) -> Answer {
        Client::connect(self.served.public).await.send("GET", "/guilds", &[("Token", token)]).await
    }

    /// How many guilds the user of a session is shown, and from how old a list, in seconds. A slow machine may need longer
    /// for a list than a request waits; nobody is told to sign in again meanwhile.
    pub(super) async fn shown(&self, token: &str) -> (usize, u64) {
        let shown = async {
            loop {
                let answer = self.guilds(token).await;
                assert_ne!(answer.status, 401, "{}", answer.body);
                if answer.status == 200 {
                    let age = answer.header("Age").unwrap().parse().unwrap();
                    return (answer.data().as_array().unwrap().len(), age);
                }
                sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(SOON, shown).await.unwrap()
    }

    /// Returns when a list that was just fetched is shown.
    pub(super) async fn shows_a_new_list(&self, token: &str) {
        let shown = async { while self.shown(token).await.1 != 0 {} };
        assert!(timeout(SOON, shown).await.is_ok(), "the list is not fetched again");
    }

    /// The bot, or the operator, says something.
    pub(super) async fn manage(&self, method: &str, path: &str, body: &Value) -> Value {
        let bearer = format!("Bearer {MANAGEMENT_KEY}");
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let mut client = Client::connect(self.served.management).await;
        let answer = client.send_with(method, path, &[("Authorization", &bearer)], &body).await;
        assert_eq!(answer.status, 200, "{method} {path}: {}", answer.body);
        answer.data()
    }

    /// A cluster of the bot reports to this node.
    pub(super) async fn hears(&self, cluster: &str, memory: f64) {
        let report = json!({"memory": memory, "started_at": 1_767_000_000, "shards": {}});
        self.manage("PUT", &format!("/bot/clusters/{cluster}/heartbeat"), &report).await;
    }

    /// The memory that `GET /` shows.
    pub(super) async fn memory(&self) -> f64 {
        let answer = Client::connect(self.served.public).await.send("GET", "/", &[]).await;
        answer.data()["resources"]["memory"].as_f64().unwrap()
    }

    /// Returns when `GET /` shows this memory.
    pub(super) async fn shows(&self, memory: f64) {
        let shown = async {
            while (self.memory().await - memory).abs() > 0.001 {
                sleep(Duration::from_millis(10)).await;
            }
        };
        assert!(timeout(SOON, shown).await.is_ok(), "it shows {} instead of {memory}", self.memory().await);
    }

    /// Returns when a token is refused.
    pub(super) async fn refuses(&self, token: &str) {
        let refused = async {
            while self.guilds(token).await.status != 401 {
                sleep(Duration::from_millis(10)).await;
            }
        };
        assert!(timeout(SOON, refused).await.is_ok(), "the token still opens something");
    }
}
