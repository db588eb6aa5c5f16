//! A platform and a service over one clock, which the test moves.

use crate::{
    client::{Answer, Client},
    served::{Served, application, database, identity, layers},
};
use companion::{composition::Adapters, configuration::Layers};
use companion_dev_identity::{Account, AccountGuild, Control, DevIdentity, Options, Running};
use companion_domain::model::UserId;
use companion_testkit::clock::FixedClock;
use serde_json::Value;
use std::{net::TcpListener, sync::Arc, time::Duration};
use tempfile::TempDir;

pub(crate) const USER: u64 = 190_000_000_000_000_007;
pub(crate) const OTHER: u64 = 190_000_000_000_000_008;
/// How old a list may get before it is fetched again.
pub(crate) const REFRESH_AFTER: Duration = Duration::from_secs(60);
/// A moment before that.
pub(crate) const ALMOST: Duration = Duration::from_millis(59_999);
/// What is left then.
pub(crate) const MOMENT: Duration = Duration::from_millis(1);
/// How old a list may get when the platform gives no other.
pub(crate) const STALE_FOR: Duration = Duration::from_secs(24 * 60 * 60);
/// After this long nothing stands in the way of another try: no claim, no open breaker.
pub(crate) const NEXT_TRY: Duration = Duration::from_secs(31);

const SECRET: &str = "sample secret";
const MANAGEMENT_KEY: &str = "sample-management-key";
/// A slow machine may need longer for a refresh than a request waits; this many requests are patient enough.
const PATIENCE: usize = 20;

type Adjust = Box<dyn FnOnce(&mut Adapters)>;

/// Everything that `GET /guilds` depends on.
pub(crate) struct Stage {
    pub(crate) platform: Running,
    pub(crate) control: Control,
    pub(crate) served: Served,
    clock: Arc<FixedClock>,
    layers: Layers,
    _folder: TempDir,
}

/// What a user is shown.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) guilds: Vec<Value>,
    /// In whole seconds.
    pub(crate) age: u64,
}

impl Shown {
    pub(crate) fn names(&self) -> Vec<&str> {
        self.guilds.iter().map(|guild| guild["name"].as_str().unwrap()).collect()
    }
}

impl Stage {
    pub(crate) async fn new() -> Self {
        Self::with(&[], |_| {}).await
    }

    /// A stage whose service has these variables set, and whose adapters are adjusted.
    pub(crate) async fn with(
        variables: &[(&str, &str)],
        adjust: impl FnOnce(&mut Adapters) + 'static,
    ) -> Self {
        let options = Options {
            clients: vec![application(SECRET)],
            users: Vec::new(),
            clock_stands_still: true,
            ..Options::default()
        };
        let platform = DevIdentity::start(TcpListener::bind("127.0.0.1:0").unwrap(), options).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let layers = layers(&platform.api_url(), SECRET, &database(folder.path()))
            .with("COMPANION_LOG__LEVEL", "error")
            .with("COMPANION_HTTP__WORKERS", "1")
            .with("COMPANION_MANAGEMENT__KEY", MANAGEMENT_KEY);
        let clock = Arc::new(FixedClock::default());
        let started = add(layers.clone(), variables);
        let served = serve(&started, &platform, &clock, Box::new(adjust)).await;
        Self { control: platform.control(), platform, served, clock, layers, _folder: folder }
    }

    /// Stops the service, and starts another with these variables on the same database.
    pub(crate) async fn restart(self, variables: &[(&str, &str)]) -> Self {
        let Self { platform, control, served, clock, layers, _folder } = self;
        served.stop().await;
        let started = add(layers.clone(), variables);
        let served = serve(&started, &platform, &clock, Box::new(|_| {})).await;
        Self { platform, control, served, clock, layers, _folder }
    }

    /// Time passes, here and at the platform.
    pub(crate) fn pass(&self, length: Duration) {
        self.clock.advance(length);
        self.control.forward(length);
    }

    /// A user who is in these guilds comes to the platform and signs in. Returns the session's token.
    pub(crate) async fn arrives(&self, user: u64, guilds: Vec<AccountGuild>) -> String {
        let username = format!("user_{user}");
        self.control.put_user(Account { id: user, username, global_name: None, avatar: None, guilds });
        self.signs_in(user).await
    }

    pub(crate) async fn signs_in(&self, user: u64) -> String {
        let code = self.control.mint_code(user);
        let answer = Client::connect(self.served.public).await.sign_in(&code).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.token()
    }

    /// `GET /guilds`.
    pub(crate) async fn ask(&self, token: &str) -> Answer {
        Client::connect(self.served.public).await.send("GET", "/guilds", &[("Token", token)]).await
    }

    /// What the user of the session is shown now.
    pub(crate) async fn shown(&self, token: &str) -> Shown {
        let answer = self.ask(token).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        let age = answer.header("Age").unwrap().parse().unwrap();
        Shown { guilds: answer.data().as_array().unwrap().clone(), age }
    }

    /// The same, from a list that was fetched just now.
    pub(crate) async fn shown_afresh(&self, token: &str) -> Shown {
        for _ in 0..PATIENCE {
            let shown = self.shown(token).await;
            if shown.age == 0 {
                return shown;
            }
        }
        panic!("the list is not fetched again");
    }

    /// The bot, or the operator, says something.
    pub(crate) async fn manage(&self, method: &str, path: &str, body: &str) -> Value {
        let bearer = format!("Bearer {MANAGEMENT_KEY}");
        let mut client = Client::connect(self.served.management).await;
        let answer = client.send_with(method, path, &[("Authorization", &bearer)], body).await;
        assert_eq!(answer.status, 200, "{method} {path}: {}", answer.body);
        answer.data()
    }

    /// How many sessions of the user the operator sees.
    pub(crate) async fn sessions(&self, user: u64) -> usize {
        let sessions = self.manage("GET", &format!("/sessions?user={user}"), "").await;
        sessions.as_array().unwrap().len()
    }

    pub(crate) async fn stop(self) {
        self.served.stop().await;
        self.platform.stop().await;
    }
}

pub(crate) fn id(user: u64) -> UserId {
    UserId::new(user).unwrap()
}

fn add(layers: Layers, variables: &[(&str, &str)]) -> Layers {
    variables.iter().fold(layers, |layers, (name, value)| layers.with(name, value))
}

async fn serve(layers: &Layers, platform: &Running, clock: &Arc<FixedClock>, adjust: Adjust) -> Served {
    let identity = identity(platform, SECRET, clock.clone());
    Served::start(layers, |adapters| {
        adapters.clock = clock.clone();
        adapters.identity = identity;
        adjust(adapters);
    })
    .await
}
