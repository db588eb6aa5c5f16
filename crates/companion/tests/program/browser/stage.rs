//! The program with a dashboard, a platform on another site, and sample data.

use crate::{
    browser::{chromium::Chromium, page::Page},
    http,
    installation::free_address,
    program::{Program, Running},
    stage::{MANAGEMENT_KEY, platform},
};
use companion_dev_identity::{Account, AccountGuild};
use serde_json::{Value, json};
use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};
use tempfile::TempDir;

pub(crate) const OWL: u64 = 190_000_000_000_000_007;
pub(crate) const LARK: u64 = 190_000_000_000_000_008;
const FIRST_GUILD: u64 = 190_000_000_000_000_500;

/// The program, its platform and a browser.
pub(crate) struct Stage {
    pub(crate) platform: companion_dev_identity::Running,
    pub(crate) browser: Arc<Chromium>,
    /// The origin of the dashboard.
    pub(crate) site: String,
    service: Option<Running>,
    pub(crate) management: String,
    folder: Arc<TempDir>,
}

/// Returns a guild as the platform reports it for a user.
pub(crate) fn membership(number: u64, name: &str, owner: bool) -> AccountGuild {
    AccountGuild { id: guild_id(number), name: name.into(), icon: None, owner, permissions: 0 }
}

/// Returns the id of a guild.
pub(crate) const fn guild_id(number: u64) -> u64 {
    FIRST_GUILD + number
}

/// Returns the sync record of a guild.
pub(crate) fn guild(number: u64, name: &str, owner: u64) -> Value {
    json!({
        "kind": "guild", "id": guild_id(number).to_string(), "name": name, "icon": null,
        "members": 42 + number * 7_919, "owner": owner.to_string(), "setup": number != 1, "linked": number == 0,
        "roles": {"MOD": ["50"]},
    })
}

fn account(id: u64, username: &str, name: &str, guilds: Vec<AccountGuild>) -> Account {
    let avatar = Some("cafe".to_owned());
    Account { id, username: username.into(), global_name: Some(name.into()), avatar, guilds }
}

impl Stage {
    /// Night Owl owns the guilds 0, 1 and 2, Day Lark owns 3; the bot is in 0, 1 and 3.
    pub(crate) fn new() -> Self {
        let site = format!("http://{}", free_address());
        let redirect = format!("{site}/callback");
        let owl = vec![
            membership(0, "Night Owls", true),
            membership(1, "Harbour City Roleplay", true),
            membership(2, "Late Arrivals", true),
        ];
        let lark = vec![membership(3, "Day Larks", true)];
        let users =
            vec![account(OWL, "night_owl", "Night Owl", owl), account(LARK, "day_lark", "Day Lark", lark)];
        let platform = platform(&redirect, users);
        let folder = Arc::new(TempDir::new().unwrap());
        let mut stage = Self {
            platform,
            browser: Chromium::start(),
            site,
            service: None,
            management: String::new(),
            folder,
        };
        stage.start();
        stage.feed_world();
        stage
    }

    /// Starts the program on its stored data.
    pub(crate) fn start(&mut self) {
        // The same server under a host name that browsers treat as another site.
        let elsewhere = |url: String| url.replace("127.0.0.1", "localhost");
        let mut service = Program::serving_within(&self.folder)
            .known_to(&self.platform, &format!("{}/callback", self.site))
            .env("COMPANION_STORAGE__URL", "sqlite:companion.db")
            // The log is not read before the end, and the audit log of hundreds of guilds would fill its pipe.
            .env("COMPANION_LOG__LEVEL", "warn")
            .env("COMPANION_MANAGEMENT__KEY", "the-management-key")
            .env("COMPANION_DASHBOARD__LISTEN", self.site.strip_prefix("http://").unwrap())
            .env("COMPANION_DASHBOARD__URL", &self.site)
            .env("COMPANION_DASHBOARD__NAME", "Night Watch")
            .env("COMPANION_DASHBOARD__INVITE_URL", "https://platform.example/invite")
            .env("COMPANION_DASHBOARD__SUPPORT_URL", "https://platform.example/support")
            .env(
                "COMPANION_IDENTITY__AUTHORIZE_URL",
                &elsewhere(self.platform.base_url() + "/oauth2/authorize"),
            )
            .env("COMPANION_IDENTITY__CDN_URL", &elsewhere(self.platform.cdn_url()))
            .start();
        service.said("Stop with Ctrl-C");
        self.management = service.management();
        self.service = Some(service);
    }

    /// Stops the program with SIGTERM.
    pub(crate) fn stop(&mut self) {
        let service = self.service.take().unwrap();
        service.signal("TERM");
        let finished = service.finish();
        assert_eq!(finished.code, Some(0), "{}", finished.err);
    }

    /// Returns the origin of the platform, as browsers see it.
    pub(crate) fn platform_origin(&self) -> String {
        self.platform.base_url().replace("127.0.0.1", "localhost")
    }

    /// Sends a request to the management API, as the bot does.
    pub(crate) fn feed(&self, method: &str, path: &str, body: &Value) {
        self.send(method, path, &if body.is_null() { String::new() } else { body.to_string() });
    }

    /// Sends these records in one sync.
    pub(crate) fn sync(&self, lines: impl IntoIterator<Item = Value>) {
        let lines: Vec<_> = lines.into_iter().map(|line| line.to_string()).collect();
        self.send("POST", "/bot/sync", &lines.join("\n"));
    }

    fn send(&self, method: &str, path: &str, body: &str) {
        let answer = http::send(&self.management, method, path, &[MANAGEMENT_KEY], body).unwrap();
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
    }

    /// Reports that the bot is in a guild.
    pub(crate) fn join(&self, number: u64, name: &str, owner: u64) {
        self.sync([guild(number, name, owner)]);
    }

    /// Sends the heartbeat of a cluster.
    #[expect(clippy::disallowed_methods, reason = "a real bot has a real clock")]
    pub(crate) fn report(&self, cluster: &str, shards: &[(u32, u32)]) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let shard =
            |latency: u32| json!({"heartbeatSent": now, "heartbeatAcknowledged": now, "latency": latency});
        let shards: serde_json::Map<_, _> =
            shards.iter().map(|(id, latency)| (id.to_string(), shard(*latency))).collect();
        let report = json!({"memory": 412.5, "started_at": now - 277_200, "shards": shards});
        self.feed("PUT", &format!("/bot/clusters/{cluster}/heartbeat"), &report);
    }

    fn feed_world(&self) {
        let mut world = vec![
            guild(0, "Night Owls", OWL),
            guild(1, "Harbour City Roleplay", OWL),
            guild(3, "Day Larks", LARK),
            json!({"kind": "plus", "user": OWL.to_string(), "guilds": [guild_id(0).to_string()], "slots": 3}),
        ];
        let cdn = self.platform.cdn_url().replace("127.0.0.1", "localhost");
        let person = |number: u64| {
            json!({"username": format!("guest_{number}"), "name": format!("Guest {number}"),
                "id": number.to_string(), "avatar": format!("{cdn}/embed/avatars/{}.png", number % 6)})
        };
        let words = [
            "Set up in ten minutes, and our staff has not asked a question since.",
            "The permissions make sense at first sight. Shift logging is exactly what we needed.",
            "Does what it says.",
            "",
        ];
        for (number, words) in (1..).zip(words) {
            world.push(json!({"kind": "feedback", "id": format!("f-{number}"), "feedback": words,
                "rating": 5 - number % 2, "timestamp": 1_700_000_000, "submitter": person(number)}));
        }
        let member = |number: u64, role: &str, color: &str, category: &str| {
            let mut member = person(number);
            let id = member.as_object_mut().unwrap().remove("id").unwrap();
            member["kind"] = "team".into();
            member["discord_id"] = id;
            member["role"] = role.into();
            member["color"] = color.into();
            member["category"] = category.into();
            member["position"] = number.into();
            member
        };
        world.extend([
            member(11, "Founder", "#E67E22", "Leadership"),
            member(12, "Bot Developer", "#3498DB", "Engineering"),
            member(13, "Web Developer", "#1ABC9C", "Engineering"),
        ]);
        self.sync(world);
        self.report("north", &[(0, 41), (1, 38)]);
        self.report("east", &[(2, 1_900), (3, 52)]);
    }

    /// Opens a page in a new context.
    pub(crate) fn page(&self) -> Page {
        Page::of(&self.browser)
    }

    /// Returns the URL of a path.
    pub(crate) fn at(&self, path: &str) -> String {
        format!("{}{path}", self.site)
    }

    /// Signs a user in, by the name on the platform.
    pub(crate) fn sign_in(&self, page: &Page, name: &str) {
        page.go(&self.at("/sign-in"));
        assert!(page.url().starts_with(&self.platform_origin()), "{}", page.url());
        page.follow(name);
        assert_eq!(page.url(), self.at("/guilds"), "{}", page.text());
    }

    /// Opens a page of a signed-in user, on the guild list.
    pub(crate) fn signed_in(&self, name: &str) -> Page {
        let page = self.page();
        self.sign_in(&page, name);
        page
    }
}
