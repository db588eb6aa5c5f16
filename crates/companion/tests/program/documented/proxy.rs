//! The program behind the real nginx, configured as `docs/deploy/nginx.conf` says, with other ports and a certificate of the test.

use super::page::text;
use crate::program::{Program, Running};
use companion_dev_identity::{Account, Client, DevIdentity, Options};
use std::{
    fs,
    io::{BufRead as _, BufReader},
    net::TcpListener,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};
use tempfile::TempDir;

const USER: u64 = 190_000_000_000_000_007;
const KEY: &str = "the-management-key";
const PATIENCE: Duration = Duration::from_secs(30);

/// A port that was free a moment ago.
fn free() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

struct Stage {
    platform: companion_dev_identity::Running,
    service: Running,
    nginx: Child,
    folder: TempDir,
    secure: u16,
    plain: u16,
}

impl Drop for Stage {
    fn drop(&mut self) {
        // nginx has a child that ends with it only when it is asked to.
        let _ = Command::new("kill").arg(self.nginx.id().to_string()).status();
        let _ = self.nginx.wait();
    }
}

impl Stage {
    /// Nothing where a program is missing.
    fn new() -> Option<Self> {
        for (program, argument) in [("nginx", "-v"), ("openssl", "version"), ("curl", "--version")] {
            if Command::new(program).arg(argument).output().is_err() {
                eprintln!("not tried: there is no {program} here");
                return None;
            }
        }
        let (folder, secure, plain) = (TempDir::new().unwrap(), free(), free());
        let site = format!("https://dashboard.example:{secure}");
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
        let nginx = Self::nginx(&folder, secure, plain, &public, &dashboard);
        let stage = Self { platform, service, nginx, folder, secure, plain };
        let begun = Instant::now();
        while stage.curl(&["-o", "/dev/null"], "https", "api.example", "/").is_none() {
            assert!(
                begun.elapsed() < PATIENCE,
                "{}",
                fs::read_to_string(stage.folder.path().join("errors")).unwrap()
            );
            std::thread::park_timeout(Duration::from_millis(20));
        }
        Some(stage)
    }

    fn nginx(folder: &TempDir, secure: u16, plain: u16, public: &str, dashboard: &str) -> Child {
        let path = |name: &str| folder.path().join(name).display().to_string();
        let made = Command::new("openssl")
            .args([
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:P-256",
                "-nodes",
                "-days",
                "2",
            ])
            .args(["-subj", "/CN=example", "-addext", "subjectAltName=DNS:dashboard.example,DNS:api.example"])
            .args(["-keyout", &path("key"), "-out", &path("certificate")])
            .output()
            .unwrap();
        assert!(made.status.success(), "{made:?}");
        let site: Vec<_> = text("docs/deploy/nginx.conf")
            .lines()
            .filter(|line| !line.contains("listen [::]"))
            .map(|line| match line.split_whitespace().next() {
                Some("ssl_certificate") => format!("ssl_certificate {};", path("certificate")),
                Some("ssl_certificate_key") => format!("ssl_certificate_key {};", path("key")),
                _ => line
                    .replace("listen 80;", &format!("listen 127.0.0.1:{plain};"))
                    .replace("listen 443 ", &format!("listen 127.0.0.1:{secure} "))
                    .replace("127.0.0.1:8080", public)
                    .replace("127.0.0.1:8082", dashboard),
            })
            .collect();
        let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("{kind}_temp_path {};\n", path(kind)))
            .concat();
        let whole = format!(
            "daemon off;\npid {};\nerror_log {};\nevents {{}}\nhttp {{\naccess_log off;\n{temporary}{}\n}}\n",
            path("pid"),
            path("errors"),
            site.join("\n")
        );
        fs::write(folder.path().join("nginx.conf"), whole).unwrap();
        Command::new("nginx").args(["-e", &path("errors"), "-c", &path("nginx.conf")]).spawn().unwrap()
    }

    fn command(&self, scheme: &str, host: &str, path: &str) -> Command {
        let port = if scheme == "https" { self.secure } else { self.plain };
        let mut command = Command::new("curl");
        command
            .args(["--silent", "--show-error", "--max-time", "30", "--cacert"])
            .arg(self.folder.path().join("certificate"))
            .arg("--connect-to")
            .arg(format!("{host}:{port}:127.0.0.1:{port}"))
            .arg(format!("{scheme}://{host}:{port}{path}"));
        command
    }

    /// The answer with its head; nothing where there is none.
    fn curl(&self, arguments: &[&str], scheme: &str, host: &str, path: &str) -> Option<String> {
        let output = self.command(scheme, host, path).arg("--include").args(arguments).output().unwrap();
        output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
    }

    fn get(&self, arguments: &[&str], host: &str, path: &str) -> String {
        self.curl(arguments, "https", host, path).unwrap()
    }

    fn cookies(&self) -> PathBuf {
        self.folder.path().join("cookies")
    }
}

fn header<'answer>(answer: &'answer str, name: &str) -> Option<&'answer str> {
    let mut lines = answer.lines().filter_map(|line| line.split_once(": "));
    lines.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim_end())
}

#[test]
fn behind_nginx_as_the_documentation_configures_it_everything_works() {
    let Some(mut stage) = Stage::new() else { return };

    // The API has its name, its headers, and its clients' addresses, whatever these say of themselves.
    let status = stage.get(&[], "api.example", "/");
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
    assert!(stage.get(&lie, "api.example", "/auth").starts_with("HTTP/2 401"));
    let code = stage.platform.control().mint_code(USER);
    let post = ["-X", "POST", "-H", &format!("Idp-Code: {code}")];
    assert!(stage.get(&post, "api.example", "/auth").starts_with("HTTP/2 200"));

    // Nobody sends a token in the clear without noticing; people at the dashboard are led to https.
    assert!(stage.curl(&[], "http", "api.example", "/team").unwrap().starts_with("HTTP/1.1 403"));
    let led = stage.curl(&[], "http", "dashboard.example", "/team").unwrap();
    assert_eq!(header(&led, "location"), Some("https://dashboard.example/team"), "{led}");

    // A sign-in goes through, cookies and all, and so does a form.
    let cookies = stage.cookies().display().to_string();
    let jar = ["-b", &cookies, "-c", &cookies];
    let begun = stage.get(&jar, "dashboard.example", "/sign-in");
    let platform = format!("{}&login_hint=night_owl", header(&begun, "location").unwrap());
    let picked = Command::new("curl").args(["--silent", "--include", &platform]).output().unwrap();
    let picked = String::from_utf8(picked.stdout).unwrap();
    let site = format!("https://dashboard.example:{}", stage.secure);
    let back = header(&picked, "location")
        .and_then(|back| back.strip_prefix(&site))
        .unwrap_or_else(|| panic!("{picked}"));
    let signed_in = stage.get(&jar, "dashboard.example", back);
    assert_eq!(header(&signed_in, "location"), Some("/guilds"), "{signed_in}");
    assert!(header(&signed_in, "set-cookie").unwrap().starts_with("__Host-companion"), "{signed_in}");
    let page = stage.get(&jar, "dashboard.example", "/guilds");
    let token = page.split("name=\"token\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let (origin, form) = (format!("Origin: {site}"), format!("token={token}"));
    let sign_out = [&jar[..], &["-H", &origin, "--data", &form]].concat();
    assert!(stage.get(&sign_out, "dashboard.example", "/sign-out").starts_with("HTTP/2 303"));

    // Events come as they happen.
    let mut live = stage
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
