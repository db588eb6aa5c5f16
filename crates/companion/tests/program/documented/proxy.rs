//! The program behind the real nginx, as the documentation configures it.

pub(crate) mod nginx;
mod postgres;

use crate::program::{Program, Running};
use companion_dev_identity::{Account, Client, DevIdentity, Options};
use nginx::Nginx;
use std::{
    io::{BufRead as _, BufReader},
    net::TcpListener,
    path::PathBuf,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

const USER: u64 = 190_000_000_000_000_007;
const KEY: &str = "the-management-key";
const PATIENCE: Duration = Duration::from_secs(30);

struct Stage {
    platform: companion_dev_identity::Running,
    service: Running,
    nginx: Nginx,
}

impl Stage {
    fn new() -> Self {
        let mut nginx = Nginx::new();
        let site = format!("https://dashboard.example:{}", nginx.secure);
        let client = Client {
            id: "123".into(),
            secret: "secret".into(),
            redirect_uris: vec![format!("{site}/callback")],
        };
        let user = Account {
            id: USER,
            username: "night_owl".into(),
            global_name: None,
            avatar: None,
            guilds: vec![],
        };
        let options = Options { clients: vec![client], users: vec![user], ..Options::default() };
        let platform = DevIdentity::start(TcpListener::bind("127.0.0.1:0").unwrap(), options).unwrap();
        let mut service = Program::serving(&["serve"])
            .env("COMPANION_MANAGEMENT__KEY", KEY)
            .env("COMPANION_DASHBOARD__LISTEN", "127.0.0.1:0")
            .env("COMPANION_DASHBOARD__URL", &site)
            .env("COMPANION_HTTP__TRUSTED_PROXIES", r#"["127.0.0.1"]"#)
            .env("COMPANION_IDENTITY__CLIENT_ID", "123")
            .env("COMPANION_IDENTITY__CLIENT_SECRET", "secret")
            .env("COMPANION_IDENTITY__REDIRECT_URI", &format!("{site}/callback"))
            .env("COMPANION_IDENTITY__API_URL", &platform.api_url())
            .env("COMPANION_IDENTITY__AUTHORIZE_URL", &format!("{}/oauth2/authorize", platform.base_url()))
            .env("COMPANION_IDENTITY__CDN_URL", &platform.cdn_url())
            .start();
        let dashboard =
            service.said("Dashboard:").split_once("listens on ").unwrap().1.trim_end_matches(')').to_owned();
        let public = service.public();
        nginx.start(&[public], &dashboard);
        let begun = Instant::now();
        while nginx.curl(&["-o", "/dev/null"], "https", "api.example", "/").is_none() {
            assert!(begun.elapsed() < PATIENCE, "{}", nginx.errors());
            std::thread::park_timeout(Duration::from_millis(20));
        }
        Self { platform, service, nginx }
    }

    fn cookies(&self) -> PathBuf {
        self.nginx.folder().join("cookies")
    }
}

fn header<'answer>(answer: &'answer str, name: &str) -> Option<&'answer str> {
    let mut lines = answer.lines().filter_map(|line| line.split_once(": "));
    lines.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim_end())
}

#[test]
fn behind_nginx_as_the_documentation_configures_it_everything_works() {
    let mut stage = Stage::new();

    // The API has its name, its headers, and its clients' addresses, whatever these say of themselves.
    let status = stage.nginx.get(&[], "api.example", "/");
    assert!(status.starts_with("HTTP/2 200"), "{status}");
    assert!(header(&status, "strict-transport-security").is_some(), "{status}");
    assert_eq!(header(&status, "x-content-type-options"), Some("nosniff"), "{status}");
    let lie = [
        "--interface",
        "127.0.0.2",
        "-H",
        "X-Forwarded-For: 192.0.2.1",
        "-X",
        "POST",
        "-H",
        "Idp-Code: none",
    ];
    assert!(stage.nginx.get(&lie, "api.example", "/auth").starts_with("HTTP/2 401"));
    let code = stage.platform.control().mint_code(USER);
    let post = ["-X", "POST", "-H", &format!("Idp-Code: {code}")];
    assert!(stage.nginx.get(&post, "api.example", "/auth").starts_with("HTTP/2 200"));

    // Nobody sends a token in the clear without noticing; people at the dashboard are led to https.
    assert!(stage.nginx.curl(&[], "http", "api.example", "/team").unwrap().starts_with("HTTP/1.1 403"));
    let led = stage.nginx.curl(&[], "http", "dashboard.example", "/team").unwrap();
    assert_eq!(header(&led, "location"), Some("https://dashboard.example/team"), "{led}");

    // A sign-in goes through, cookies and all, and so does a form.
    let cookies = stage.cookies().display().to_string();
    let jar = ["-b", &cookies, "-c", &cookies];
    let begun = stage.nginx.get(&jar, "dashboard.example", "/sign-in");
    let platform = format!("{}&login_hint=night_owl", header(&begun, "location").unwrap());
    let picked = Command::new("curl").args(["--silent", "--include", &platform]).output().unwrap();
    let picked = String::from_utf8(picked.stdout).unwrap();
    let site = format!("https://dashboard.example:{}", stage.nginx.secure);
    let back = header(&picked, "location")
        .and_then(|back| back.strip_prefix(&site))
        .unwrap_or_else(|| panic!("{picked}"));
    let signed_in = stage.nginx.get(&jar, "dashboard.example", back);
    assert_eq!(header(&signed_in, "location"), Some("/guilds"), "{signed_in}");
    assert!(header(&signed_in, "set-cookie").unwrap().starts_with("__Host-companion"), "{signed_in}");
    let page = stage.nginx.get(&jar, "dashboard.example", "/guilds");
    let token = page.split("name=\"token\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let (origin, form) = (format!("Origin: {site}"), format!("token={token}"));
    let sign_out = [&jar[..], &["-H", &origin, "--data", &form]].concat();
    assert!(stage.nginx.get(&sign_out, "dashboard.example", "/sign-out").starts_with("HTTP/2 303"));

    // Events come as they happen.
    let mut live = stage
        .nginx
        .command("https", "dashboard.example", "/live?page=/status&seen=none")
        .arg("--no-buffer")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut events = BufReader::new(live.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert_eq!(events.next().as_deref(), Some("retry: 2000"));
    assert!(events.any(|line| line == "event: change"), "the page is old");
    let report = r#"{"memory": 1, "started_at": 1, "shards": {"0": {"heartbeatSent": 1, "heartbeatAcknowledged": 1, "latency": 1}}}"#;
    let bearer = format!("Bearer {KEY}");
    let management = stage.service.management();
    let put = crate::http::send(
        &management,
        "PUT",
        "/bot/clusters/a/heartbeat",
        &[("Authorization", &bearer)],
        report,
    );
    assert_eq!(put.unwrap().status, 200);
    assert!(events.any(|line| line == "event: change"), "the bot has reported");
    let _ = live.kill();
    let _ = live.wait();

    stage.service.signal("TERM");
    let said = stage.service.ended().err;
    let refused =
        said.lines().find(|line| line.contains("idp_code_invalid")).unwrap_or_else(|| panic!("{said}"));
    assert!(refused.contains("127.0.0.2") && !said.contains("192.0.2.1"), "{said}");
    assert!(!said.contains("X-Forwarded-For is ignored"), "{said}");
}
