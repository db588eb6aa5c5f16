//! The whole way: the bot feeds, a user signs in with a real OAuth 2.0 provider, and the five endpoints tell it.

use crate::{
    http,
    program::{Program, Running},
};
use companion_dev_identity::{Account, AccountGuild, Client, DevIdentity, Fault, Options, Route};
use serde_json::{Value, json};
use std::{net::TcpListener, thread};

const USER: u64 = 190_000_000_000_000_007;
const GUILD: u64 = 190_000_000_000_000_500;
const REDIRECT: &str = "https://dashboard.example/callback";
/// Every kind of character that some encoding treats specially.
const SECRET: &str = "a b+c%2F:&=?/ü\"'";

struct Stage {
    platform: companion_dev_identity::Running,
    service: Running,
    public: String,
    management: String,
}

impl Stage {
    fn new() -> Self {
        let guild =
            AccountGuild { id: GUILD, name: "Old name".into(), icon: None, owner: true, permissions: 0 };
        let user = Account {
            id: USER,
            username: "night_owl".into(),
            global_name: Some("Night Owl".into()),
            avatar: Some("a_cafe".into()),
            guilds: vec![guild],
        };
        let client = Client { id: "123".into(), secret: SECRET.into(), redirect_uris: vec![REDIRECT.into()] };
        let options = Options { clients: vec![client], users: vec![user], ..Options::default() };
        let platform = DevIdentity::start(TcpListener::bind("127.0.0.1:0").unwrap(), options).unwrap();
        let mut service = Program::serving(&["serve"])
            .env("COMPANION_STORAGE__URL", "sqlite:companion.db")
            .env("COMPANION_IDENTITY__CLIENT_ID", "123")
            .env("COMPANION_IDENTITY__CLIENT_SECRET", SECRET)
            .env("COMPANION_IDENTITY__REDIRECT_URI", REDIRECT)
            .env("COMPANION_IDENTITY__API_URL", &platform.api_url())
            .env("COMPANION_IDENTITY__CDN_URL", &platform.cdn_url())
            .env("COMPANION_MANAGEMENT__KEY", "the-management-key")
            // Everyone here has one address.
            .env("COMPANION_LIMITS__REFUSED_CODES_PER_MINUTE", "1000000")
            .start();
        let (public, management) = (service.public(), service.management());
        Self { platform, service, public, management }
    }

    fn code(&self) -> String {
        self.platform.control().mint_code(USER)
    }

    fn post(&self, code: &str) -> http::Answer {
        http::ask(&self.public, "POST", "/auth", &[("Idp-Code", code)])
    }

    fn feed(&self, method: &str, path: &str, body: &Value) -> Value {
        let key = ("Authorization", "Bearer the-management-key");
        let answer = http::send(&self.management, method, path, &[key], &body.to_string()).unwrap();
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.body["data"].clone()
    }

    fn get(&self, path: &str, headers: &[(&str, &str)]) -> Value {
        let answer = http::get(&self.public, path, headers);
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.body["data"].clone()
    }
}

#[test]
fn what_the_bot_feeds_and_the_platform_knows_comes_together_in_the_five_answers() {
    let stage = Stage::new();
    let person = json!({"username": "u", "name": "U", "id": "8", "avatar": "https://cdn.example/a.png"});
    let guild = json!({
        "name": "Night Owls", "icon": null, "members": 42, "owner": USER.to_string(), "setup": true, "linked": false,
        "roles": {"MOD": ["50"]},
    });
    let added = json!({"added": 1, "changed": 0, "removed": 0});
    assert_eq!(stage.feed("PUT", &format!("/bot/guilds/{GUILD}"), &guild), added);
    stage.feed("PUT", "/bot/plus/8", &json!({"guilds": [GUILD.to_string()], "slots": 3}));
    let feedback =
        json!({"feedback": "Splendid", "rating": 5, "timestamp": 1_700_000_000, "submitter": person});
    stage.feed("PUT", "/bot/feedback/f-1", &feedback);
    let member = json!({
        "username": "u", "name": "U", "avatar": "https://cdn.example/a.png", "discord_id": "8", "role": "Lead",
        "color": "#1abc9c", "category": "Board", "position": 1,
    });
    stage.feed("PUT", "/bot/team", &json!([member]));
    let shard =
        json!({"heartbeatSent": 1_700_000_000, "heartbeatAcknowledged": 1_700_000_000.25, "latency": 0.04});
    let report = json!({"memory": 512.257, "started_at": 1_700_000_000, "shards": {"0": shard}});
    stage.feed("PUT", "/bot/clusters/east/heartbeat", &report);

    let session = stage.post(&stage.code()).body["data"].clone();
    let user = &session["user"];
    let cdn = stage.platform.cdn_url();
    let expected = json!({
        "username": "night_owl", "name": "Night Owl", "id": USER.to_string(),
        "avatar": format!("{cdn}/avatars/{USER}/a_cafe.gif"),
    });
    assert_eq!(*user, expected);

    let guilds = stage.get("/guilds", &[("Token", session["token"].as_str().unwrap())]);
    let [shown] = guilds.as_array().unwrap().as_slice() else { panic!("{guilds}") };
    let mut shown = shown.clone();
    let permissions = shown.as_object_mut().unwrap().remove("permissions").unwrap();
    let icon = format!("{cdn}/embed/avatars/{}.png", (GUILD >> 22) % 6);
    let expected = json!({
        "name": "Night Owls", "id": GUILD.to_string(), "icon": icon, "members": 42, "owner": USER.to_string(),
        "role": "Owner", "service": true,
        "plus": {"plus": {"userid": "8", "guilds": [GUILD.to_string()], "slots": 3}, "active": true},
    });
    assert_eq!(shown, expected);
    let permissions = permissions.as_object().unwrap();
    let granted: Vec<_> =
        permissions.iter().filter(|(_, on)| **on == true).map(|(key, _)| key.as_str()).collect();
    assert_eq!(permissions.len(), 20);
    assert_eq!(
        granted,
        [
            "ADMIN",
            "ERLC_ADMIN",
            "ERLC_MANAGER",
            "ERLC_STAFF",
            "MANAGE_SERVER",
            "MOD",
            "SERVICE_PLUS_GUILD",
            "SESSION_STARTER",
            "SETUP"
        ]
    );

    let shown_feedback =
        json!([{"feedback": "Splendid", "rating": 5, "timestamp": 1_700_000_000, "submitter": person}]);
    assert_eq!(stage.get("/feedback", &[]), shown_feedback);
    assert_eq!(stage.get("/team", &[]), json!([member]));
    let status = stage.get("/", &[]);
    assert_eq!(status["resources"]["memory"], 512.26);
    assert_eq!(status["health"]["bot"]["shards"]["0"], shard);
    assert_eq!(status["health"]["bot"]["uptime"]["epoch"], 1_700_000_000);
}

#[test]
fn of_many_who_post_one_code_one_gets_the_session_and_the_platform_is_asked_once() {
    let stage = Stage::new();
    let code = stage.code();
    let codes: Vec<_> = thread::scope(|scope| {
        let posts: Vec<_> = (0..50).map(|_| scope.spawn(|| stage.post(&code).status)).collect();
        posts.into_iter().map(|post| post.join().unwrap()).collect()
    });
    assert_eq!(codes.iter().filter(|code| **code == 200).count(), 1, "{codes:?}");
    assert_eq!(codes.iter().filter(|code| **code == 401).count(), 49, "{codes:?}");
    assert_eq!(stage.platform.control().calls(Route::Token), 1);
}

#[test]
fn faults_of_the_platform_become_the_documented_answers() {
    let stage = Stage::new();
    let control = stage.platform.control();
    let unknown = stage.post("made-up").body["data"]["error"].clone();
    assert_eq!(unknown, "idp_code_invalid");
    for (route, fault, status, word) in [
        (Route::Token, Fault::OauthError { error: "invalid_client".into() }, 502, "provider_failed"),
        (Route::User, Fault::NotJson, 502, "provider_failed"),
        (Route::User, Fault::WrongShape, 502, "provider_failed"),
    ] {
        control.fail_times(route, fault, 1);
        let answer = stage.post(&stage.code());
        assert_eq!(
            (answer.status, &answer.body["data"]["error"]),
            (status, &word.into()),
            "{:?}",
            answer.body
        );
    }
    control.fail_times(Route::Guilds, Fault::NotJson, 1);
    assert_eq!(stage.post(&stage.code()).status, 200, "a session needs no list");
}

#[test]
fn half_a_configuration_of_the_platform_is_refused_by_the_missing_key() {
    for (given, missing) in [
        (&[("CLIENT_ID", "1")][..], "identity.client_secret"),
        (&[("CLIENT_SECRET", "hunter2")], "identity.client_id"),
        (&[("CLIENT_ID", "1"), ("CLIENT_SECRET", "hunter2")], "identity.redirect_uri"),
    ] {
        let program = given.iter().fold(Program::serving(&["serve"]), |program, (key, value)| {
            program.env(&format!("COMPANION_IDENTITY__{key}"), value)
        });
        let finished = program.finish();
        assert_eq!(finished.code, Some(2));
        assert!(finished.err.contains(missing) && !finished.err.contains("hunter2"), "{}", finished.err);
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.service.signal("INT");
    }
}
