//! A whole installation: a folder, a platform, a bot that feeds, and the program in between.

use crate::{
    http,
    program::{Program, Running},
};
use companion_dev_identity::{Account, AccountGuild, Client, DevIdentity, Options};
use std::{
    collections::BTreeMap,
    net::{TcpListener, TcpStream},
    path::Path,
    sync::Arc,
};
use tempfile::TempDir;

pub(crate) const USER: u64 = 190_000_000_000_000_007;
pub(crate) const MANAGEMENT_KEY: &str = "the-management-key";

/// What all programs of an installation have in common. Each of its settings can be made wrong.
pub(crate) struct Installation {
    pub(crate) folder: Arc<TempDir>,
    pub(crate) platform: companion_dev_identity::Running,
    settings: BTreeMap<String, String>,
}

impl Installation {
    /// One on which everything is right, and nothing runs yet but the platform.
    pub(crate) fn new() -> Self {
        let guild = AccountGuild { id: 500, name: "Owls".into(), icon: None, owner: true, permissions: 0 };
        let user = Account {
            id: USER,
            username: "night_owl".into(),
            global_name: None,
            avatar: None,
            guilds: vec![guild],
        };
        let redirect = "https://dashboard.example/callback";
        let client =
            Client { id: "123".into(), secret: "hunter2".into(), redirect_uris: vec![redirect.into()] };
        let options = Options { clients: vec![client], users: vec![user], ..Options::default() };
        let platform = DevIdentity::start(TcpListener::bind("127.0.0.1:0").unwrap(), options).unwrap();
        let (public, management) = (free_address(), free_address());
        let settings = [
            ("HTTP__LISTEN", public.as_str()),
            ("HTTP__ALLOWED_ORIGINS", "[\"https://dashboard.example\"]"),
            ("HTTP__TRUSTED_PROXIES", "[\"127.0.0.1\"]"),
            ("MANAGEMENT__LISTEN", &management),
            ("MANAGEMENT__KEY", MANAGEMENT_KEY),
            ("IDENTITY__CLIENT_ID", "123"),
            ("IDENTITY__CLIENT_SECRET", "hunter2"),
            ("IDENTITY__REDIRECT_URI", redirect),
            ("IDENTITY__API_URL", &platform.api_url()),
        ];
        let settings =
            settings.map(|(key, value)| (format!("COMPANION_{key}"), value.to_owned())).into_iter().collect();
        Self { folder: Arc::new(TempDir::new().unwrap()), platform, settings }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The same with another setting, named as in the environment without its prefix.
    pub(crate) fn set(&mut self, key: &str, value: &str) {
        self.settings.insert(format!("COMPANION_{key}"), value.to_owned());
    }

    pub(crate) fn unset(&mut self, key: &str) {
        self.settings.remove(&format!("COMPANION_{key}")).unwrap();
    }

    pub(crate) fn setting(&self, key: &str) -> &str {
        &self.settings[&format!("COMPANION_{key}")]
    }

    pub(crate) fn public(&self) -> &str {
        self.setting("HTTP__LISTEN")
    }

    pub(crate) fn management(&self) -> &str {
        self.setting("MANAGEMENT__LISTEN")
    }

    pub(crate) fn program(&self, arguments: &[&str]) -> Program {
        let program = Program::within(&self.folder, arguments);
        self.settings.iter().fold(program, |program, (name, value)| program.env(name, value))
    }

    /// Starts the service, and waits until it serves.
    pub(crate) fn serve(&self) -> Running {
        let mut service = self.program(&["serve"]).start();
        service.public();
        service
    }

    /// Puts something through the management API.
    pub(crate) fn feed(&self, path: &str, body: &str) {
        let key = format!("Bearer {MANAGEMENT_KEY}");
        let answer = http::send(self.management(), "PUT", path, &[("Authorization", &key)], body).unwrap();
        assert_eq!(answer.status, 200, "{}", answer.body);
    }

    /// Lets the bot report.
    pub(crate) fn report(&self) {
        self.feed("/bot/clusters/one/heartbeat", r#"{"memory": 1, "started_at": 1700000000, "shards": {}}"#);
    }

    /// Signs the user in, and returns the token.
    pub(crate) fn sign_in(&self) -> String {
        let code = self.platform.control().mint_code(USER);
        let answer = http::ask(self.public(), "POST", "/auth", &[("Idp-Code", &code)]);
        answer.body["data"]["token"].as_str().unwrap().to_owned()
    }
}

/// An address on which nobody listens. Another process could take it in the meantime, but ports are given out in turn.
pub(crate) fn free_address() -> String {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    assert!(TcpStream::connect(address).is_err());
    address.to_string()
}
