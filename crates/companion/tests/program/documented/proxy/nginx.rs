//! A real nginx, configured as `docs/deploy/nginx.conf` says, with other ports and a certificate of the test.

use super::super::page::text;
use std::{
    fs,
    net::TcpListener,
    path::Path,
    process::{Child, Command, Stdio},
};
use tempfile::TempDir;

/// A port that was free a moment ago.
pub(super) fn free() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

pub(crate) fn is_installed() -> bool {
    let version = Command::new("nginx").arg("-v").stdout(Stdio::null()).stderr(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}

/// The ports are known before it is started, so that whoever it passes requests to can be told of them.
pub(super) struct Nginx {
    child: Option<Child>,
    folder: TempDir,
    pub(super) secure: u16,
    pub(super) plain: u16,
    /// Serves what `secure` serves, for those who speak no TLS.
    pub(super) clear: u16,
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // nginx has a child that ends with it only when it is asked to.
        if let Some(child) = &mut self.child {
            let _ = Command::new("kill").arg(child.id().to_string()).status();
            let _ = child.wait();
        }
    }
}

impl Nginx {
    pub(super) fn new() -> Self {
        let folder = TempDir::new().unwrap();
        Self { child: None, folder, secure: free(), plain: free(), clear: free() }
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// What it complained of.
    pub(super) fn errors(&self) -> String {
        fs::read_to_string(self.folder().join("errors")).unwrap()
    }

    /// Starts it before a dashboard and the public listeners of one node or several.
    pub(super) fn start(&mut self, public: &[String], dashboard: &str) {
        let path = |name: &str| self.folder().join(name).display().to_string();
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
        let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("{kind}_temp_path {};\n", path(kind)))
            .concat();
        let whole = format!(
            "daemon off;\npid {};\nerror_log {};\nevents {{}}\nhttp {{\naccess_log off;\n{temporary}{}\n}}\n",
            path("pid"),
            path("errors"),
            site.join("\n")
        );
        fs::write(self.folder().join("nginx.conf"), whole).unwrap();
        let mut nginx = Command::new("nginx");
        self.child = Some(nginx.args(["-e", &path("errors"), "-c", &path("nginx.conf")]).spawn().unwrap());
    }

    pub(super) fn command(&self, scheme: &str, host: &str, path: &str) -> Command {
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

    /// The answer with its head; nothing where there is none.
    pub(super) fn curl(&self, arguments: &[&str], scheme: &str, host: &str, path: &str) -> Option<String> {
        let output = self.command(scheme, host, path).arg("--include").args(arguments).output().unwrap();
        output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
    }

    pub(super) fn get(&self, arguments: &[&str], host: &str, path: &str) -> String {
        self.curl(arguments, "https", host, path).unwrap()
    }
}
