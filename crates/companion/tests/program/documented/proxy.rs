//! The program behind a real nginx, configured by `docs/deploy/nginx.conf` with other ports and a test certificate.

use super::text;
use crate::{
    http,
    installation::free_address,
    program::Program,
    stage::{MANAGEMENT_KEY, account, platform, until},
};
use std::{
    fs,
    io::{BufRead as _, BufReader},
    net::SocketAddr,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};
use tempfile::TempDir;

const USER: u64 = 190_000_000_000_000_007;
const TIMEOUT: Duration = Duration::from_secs(30);

/// Returns a free port.
fn free() -> u16 {
    let address: SocketAddr = free_address().parse().unwrap();
    address.port()
}

pub(crate) fn is_installed() -> bool {
    let version = Command::new("nginx").arg("-v").stdout(Stdio::null()).stderr(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}

/// A running nginx. Its ports are known before the start, so that upstreams can be configured with them.
pub(crate) struct Nginx {
    child: Option<Child>,
    folder: TempDir,
    secure: u16,
    pub(crate) plain: u16,
    /// Serves the same as `secure`, without TLS.
    clear: u16,
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // nginx ends its worker process only on SIGTERM.
        if let Some(child) = &mut self.child {
            let _ = Command::new("kill").arg(child.id().to_string()).status();
            let _ = child.wait();
        }
    }
}

impl Nginx {
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().unwrap();
        Self { child: None, folder, secure: free(), plain: free(), clear: free() }
    }

    fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the error log.
    fn errors(&self) -> String {
        fs::read_to_string(self.folder().join("errors")).unwrap()
    }

    /// Starts nginx in front of a dashboard and the public listeners of one or more nodes.
    fn start(&mut self, public: &[String], dashboard: &str) {
        let path = |name: &str| self.folder().join(name).display().to_string();
        let made = Command::new("openssl")
            .args("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2".split(' '))
            .args(["-subj", "/CN=example", "-addext", "subjectAltName=DNS:dashboard.example,DNS:api.example"])
            .args(["-keyout", &path("key"), "-out", &path("certificate")])
            .output()
            .unwrap();
        assert!(made.status.success(), "{made:?}");
        let listen = format!("listen 127.0.0.1:{}; listen 127.0.0.1:{} ", self.clear, self.secure);
        let site: Vec<_> = text("docs/deploy/nginx.conf")
            .lines()
            .filter(|line| !line.contains("listen [::]"))
            .map(|line| match line.split_whitespace().next() {
                Some("ssl_certificate") => format!("ssl_certificate {};", path("certificate")),
                Some("ssl_certificate_key") => format!("ssl_certificate_key {};", path("key")),
                Some("server") if line.contains("127.0.0.1:8080") => {
                    public.iter().map(|node| line.replace("127.0.0.1:8080", node) + "\n").collect()
                }
                _ => line
                    .replace("listen 80;", &format!("listen 127.0.0.1:{};", self.plain))
                    .replace("listen 443 ", &listen)
                    .replace("127.0.0.1:8082", dashboard),
            })
            .collect();
        self.run(&site.join("\n"));
    }

    /// Starts nginx with these server blocks.
    pub(crate) fn run(&mut self, servers: &str) {
        let path = |name: &str| self.folder().join(name).display().to_string();
        let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("{kind}_temp_path {};\n", path(kind)))
            .concat();
        let whole = format!(
            "daemon off;\npid {};\nerror_log {};\nevents {{}}\nhttp {{\naccess_log off;\n{temporary}{servers}\n}}\n",
            path("pid"),
            path("errors")
        );
        fs::write(self.folder().join("nginx.conf"), whole).unwrap();
        let mut nginx = Command::new("nginx");
        self.child = Some(nginx.args(["-e", &path("errors"), "-c", &path("nginx.conf")]).spawn().unwrap());
    }

    fn command(&self, scheme: &str, host: &str, path: &str) -> Command {
        let port = if scheme == "https" { self.secure } else { self.plain };
        let mut command = Command::new("curl");
        command
            .args(["--silent", "--show-error", "--max-time", "30", "--cacert"])
            .arg(self.folder().join("certificate"))
            .arg("--connect-to")
            .arg(format!("{host}:{port}:127.0.0.1:{port}"))
            .arg(format!("{scheme}://{host}:{port}{path}"));
        command
    }

    /// Returns the response with its head, or `None` if there is none.
    fn curl(&self, arguments: &[&str], scheme: &str, host: &str, path: &str) -> Option<String> {
        let output = self.command(scheme, host, path).arg("--include").args(arguments).output().unwrap();
        output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
    }

    fn get(&self, arguments: &[&str], host: &str, path: &str) -> String {
        self.curl(arguments, "https", host, path).unwrap()
    }
}

fn header<'answer>(answer: &'answer str, name: &str) -> Option<&'answer str> {
    let mut lines = answer.lines().filter_map(|line| line.split_once(": "));
    lines.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim_end())
}

#[test]
fn works_behind_nginx_as_documented() {
    let mut nginx = Nginx::new();
    let site = format!("https://dashboard.example:{}", nginx.secure);
    let callback = format!("{site}/callback");
    let platform = platform(&callback, vec![account(USER, &[])]);
    let mut service = Program::serving(&["serve"])
        .known_to(&platform, &callback)
        .env("COMPANION_MANAGEMENT__KEY", "the-management-key")
        .env("COMPANION_DASHBOARD__LISTEN", "127.0.0.1:0")
        .env("COMPANION_DASHBOARD__URL", &site)
        .env("COMPANION_HTTP__TRUSTED_PROXIES", r#"["127.0.0.1"]"#)
        .env("COMPANION_IDENTITY__AUTHORIZE_URL", &format!("{}/oauth2/authorize", platform.base_url()))
        .start();
    let dashboard = service.said("Dashboard:");
    let dashboard = dashboard.split_once("listens on ").unwrap().1.trim_end_matches(')');
    nginx.start(&[service.public()], dashboard);
    until("nginx answers", TIMEOUT, || {
        nginx.curl(&["-o", "/dev/null"], "https", "api.example", "/").is_some()
    });

    // The API is reached by its host name, has its headers, and sees the real client address whatever the client
    // claims.
    let status = nginx.get(&[], "api.example", "/");
    assert!(status.starts_with("HTTP/2 200"), "{status}");
    assert!(header(&status, "strict-transport-security").is_some(), "{status}");
    assert_eq!(header(&status, "x-content-type-options"), Some("nosniff"), "{status}");
    let lie = ["-H", "X-Forwarded-For: 192.0.2.1", "-H", "Idp-Code: none"];
    let lie = [&["--interface", "127.0.0.2", "-X", "POST"], &lie[..]].concat();
    assert!(nginx.get(&lie, "api.example", "/auth").starts_with("HTTP/2 401"));
    let code = platform.control().mint_code(USER);
    let post = ["-X", "POST", "-H", &format!("Idp-Code: {code}")];
    assert!(nginx.get(&post, "api.example", "/auth").starts_with("HTTP/2 200"));

    // A token sent without TLS is rejected; visitors of the dashboard are redirected to https.
    assert!(nginx.curl(&[], "http", "api.example", "/team").unwrap().starts_with("HTTP/1.1 403"));
    let led = nginx.curl(&[], "http", "dashboard.example", "/team").unwrap();
    assert_eq!(header(&led, "location"), Some("https://dashboard.example/team"), "{led}");

    // Sign-in works with cookies, and so does a form.
    let cookies = nginx.folder().join("cookies").display().to_string();
    let jar = ["-b", &cookies, "-c", &cookies];
    let begun = nginx.get(&jar, "dashboard.example", "/sign-in");
    let picking = format!("{}&login_hint=user_{USER}", header(&begun, "location").unwrap());
    let picked = Command::new("curl").args(["--silent", "--include", &picking]).output().unwrap();
    let picked = String::from_utf8(picked.stdout).unwrap();
    let back = header(&picked, "location")
        .and_then(|back| back.strip_prefix(&site))
        .unwrap_or_else(|| panic!("{picked}"));
    let signed_in = nginx.get(&jar, "dashboard.example", back);
    assert_eq!(header(&signed_in, "location"), Some("/guilds"), "{signed_in}");
    assert!(header(&signed_in, "set-cookie").unwrap().starts_with("__Host-companion"), "{signed_in}");
    let page = nginx.get(&jar, "dashboard.example", "/guilds");
    let token = page.split("name=\"token\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let (origin, form) = (format!("Origin: {site}"), format!("token={token}"));
    let sign_out = [&jar[..], &["-H", &origin, "--data", &form]].concat();
    assert!(nginx.get(&sign_out, "dashboard.example", "/sign-out").starts_with("HTTP/2 303"));

    // Events arrive immediately.
    let mut live = nginx
        .command("https", "dashboard.example", "/live?page=/status&seen=none")
        .arg("--no-buffer")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut events = BufReader::new(live.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert_eq!(events.next().as_deref(), Some("retry: 2000"));
    assert!(events.any(|line| line == "event: change"), "the page is old");
    let report = r#"{"memory": 1, "started_at": 1, "shards": {"0": {"heartbeatSent": 1, "heartbeatAcknowledged": 1, "latency": 1}}}"#;
    let management = service.management();
    let put = http::send(&management, "PUT", "/bot/clusters/a/heartbeat", &[MANAGEMENT_KEY], report);
    assert_eq!(put.unwrap().status, 200);
    assert!(events.any(|line| line == "event: change"), "the bot has reported");
    let _ = live.kill();
    let _ = live.wait();

    let said = service.stop().err;
    let refused =
        said.lines().find(|line| line.contains("idp_code_invalid")).unwrap_or_else(|| panic!("{said}"));
    assert!(refused.contains("127.0.0.2") && !said.contains("192.0.2.1"), "{said}");
    assert!(!said.contains("X-Forwarded-For is ignored"), "{said}");
}

/// Two nodes on one PostgreSQL, restarted in turn.
mod postgres {
    use super::{Nginx, TIMEOUT, free, is_installed};
    use crate::{
        postgres::Database,
        stage::{Node, Stage, until},
        stop::{Load, request, restarts},
    };
    use std::{net::TcpStream, sync::atomic::Ordering::Relaxed, thread};

    #[test]
    fn a_rolling_restart_behind_nginx_fails_no_request() {
        if !is_installed() || !xtask::postgres::is_installed() {
            println!("rolling restarts: skipped, as nginx or PostgreSQL is not installed");
            return;
        }
        let restarts = restarts();
        let (database, stage) = (Database::new(), Stage::new());
        let addresses = [free(), free()].map(|port| format!("127.0.0.1:{port}"));
        let serve = |address: &String| {
            let program = stage
                .program(&["serve"], &database.url())
                .env("COMPANION_HTTP__LISTEN", address)
                .env("COMPANION_HTTP__TRUSTED_PROXIES", r#"["127.0.0.1"]"#);
            Node::ready(program)
        };
        let mut nodes = addresses.each_ref().map(serve);
        let mut nginx = Nginx::new();
        nginx.start(&addresses, "127.0.0.1:8082");
        let proxy = format!("127.0.0.1:{}", nginx.clear);
        until("nginx listens", TIMEOUT, || TcpStream::connect(&proxy).is_ok());
        let token = nodes[0].sign_in(&stage, 1);
        let load = Load::default();
        thread::scope(|scope| {
            let (load, proxy, stage) = (&load, &proxy, &stage);
            let sign_in = move || {
                let code = stage.platform().mint_code(2);
                request("POST /auth", &format!("Idp-Code: {code}\r\nContent-Length: 0\r\n"))
            };
            for path in ["/", "/team", "/feedback"] {
                let public = move || request(&format!("GET {path}"), "");
                let guilds = || request("GET /guilds", &format!("Token: {token}\r\n"));
                scope.spawn(move || load.ask(proxy, false, public));
                scope.spawn(move || load.ask(proxy, true, public));
                scope.spawn(move || load.ask(proxy, false, guilds));
            }
            scope.spawn(move || load.ask(proxy, false, sign_in));
            scope.spawn(move || load.ask(proxy, true, sign_in));
            load.answers(300);
            for turn in 0..restarts {
                let turn = usize::try_from(turn).unwrap() % nodes.len();
                nodes[turn].running.signal("TERM");
                assert_eq!(nodes[turn].running.ended().code, Some(0));
                // Long enough to deploy another version.
                load.answers(300);
                nodes[turn] = serve(&addresses[turn]);
            }
            load.over.store(true, Relaxed);
        });
        let passed_on = nginx.errors().matches("while connecting to upstream").count();
        assert!(passed_on > 0, "no node was ever away");
        let told =
            format!("{restarts} rolling restarts behind nginx, {passed_on} passed on to the other node");
        assert_eq!(load.told(&told), (0, 0), "{}", nginx.errors());
    }
}
