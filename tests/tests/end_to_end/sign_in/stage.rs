//! A platform, and a service in this process that signs users in with it.

use crate::served::{Answer, Client, Served, application, database, identity_within, layers, start_platform};
use companion::composition::Adapters;
use companion_dev_identity::{Account, AccountGuild, Control, Options, Running};
use companion_identity_oauth2::Deadlines;
use std::{sync::mpsc, time::Duration};
use tempfile::TempDir;
use tokio::task::spawn_blocking;

pub(crate) const USER: u64 = 190_000_000_000_000_007;

/// Everything that a sign-in needs.
pub(crate) struct Stage {
    pub(crate) platform: Running,
    pub(crate) control: Control,
    pub(crate) served: Served,
    folder: TempDir,
}

impl Stage {
    pub(crate) async fn new() -> Self {
        Self::with(&[]).await
    }

    /// A stage whose service has these variables set, too.
    pub(crate) async fn with(variables: &[(&str, &str)]) -> Self {
        Self::adjusted(variables, |_, _| {}).await
    }

    /// A stage whose service gives a call to the platform so long.
    pub(crate) async fn within(call: Duration) -> Self {
        Self::adjusted(&[], |platform, adapters| {
            let deadlines = Deadlines { call, ..Deadlines::default() };
            adapters.identity =
                identity_within(deadlines, platform, &sample_secret(), adapters.clock.clone());
        })
        .await
    }

    async fn adjusted(variables: &[(&str, &str)], adjust: impl FnOnce(&Running, &mut Adapters)) -> Self {
        let platform = platform(&sample_secret());
        let folder = tempfile::tempdir().unwrap();
        let layers = layers(&platform.api_url(), &sample_secret(), &database(folder.path()));
        let layers = layers.with("COMPANION_LOG__LEVEL", "error");
        let layers = variables.iter().fold(layers, |layers, (name, value)| layers.with(name, value));
        let served = Served::start(&layers, |adapters| adjust(&platform, adapters)).await;
        Self { control: platform.control(), platform, served, folder }
    }

    /// A new code for the usual user.
    pub(crate) fn code(&self) -> String {
        self.control.mint_code(USER)
    }

    pub(crate) async fn sign_in(&self, code: &str) -> Answer {
        Client::connect(self.served.public).await.sign_in(code).await
    }

    pub(crate) async fn stop(self) {
        self.served.stop().await;
        self.platform.stop().await;
        self.folder.close().unwrap();
    }
}

fn sample_secret() -> String {
    // Every kind of character that some encoding treats specially.
    "a b+c%2F:&=?/ü\"'".to_owned()
}

pub(crate) fn platform(secret: &str) -> Running {
    start_platform(Options {
        clients: vec![application(secret)],
        users: vec![account(USER)],
        ..Options::default()
    })
}

/// Keeps paused time from running ahead while answers are on their way over real sockets: it does so only while nothing
/// blocks.
pub(crate) fn hold_time() -> mpsc::Sender<()> {
    let (sender, receiver) = mpsc::channel();
    spawn_blocking(move || receiver.recv());
    sender
}

pub(crate) fn account(id: u64) -> Account {
    let guild = AccountGuild { id: 500, name: "Owls".to_owned(), icon: None, owner: true, permissions: 0 };
    let username = format!("user_{id}");
    Account { id, username, global_name: None, avatar: None, guilds: vec![guild] }
}
