//! The same behind a real nginx, whose connections to us serve one client after the other.

use super::smuggling::{HIDDEN, cases, exchange};
use crate::{documented::proxy::nginx::is_installed, http::Kept, program::Program};
use std::{
    fs,
    net::{SocketAddr, TcpListener, TcpStream},
    process::{Child, Command},
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// A proxy with one connection to the service, which it keeps.
struct Proxy {
    child: Child,
    address: SocketAddr,
    _folder: TempDir,
}

impl Proxy {
    /// Nothing where nginx is not installed.
    fn before(upstream: &str) -> Option<Self> {
        if !is_installed() {
            return None;
        }
        let folder = TempDir::new().unwrap();
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let is_root = Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout == b"0\n");
        let user = if is_root { "user root;" } else { "" };
        let path = folder.path().display();
        let text = format!(
            "{user} worker_processes 1; daemon off; pid {path}/pid; error_log stderr crit;\n\
             events {{ worker_connections 64; }}\n\
             http {{ access_log off; client_body_temp_path {path}/body; proxy_temp_path {path}/proxy;\n\
             fastcgi_temp_path {path}/fastcgi; uwsgi_temp_path {path}/uwsgi; scgi_temp_path {path}/scgi;\n\
             upstream service {{ server {upstream}; keepalive 1; }}\n\
             server {{ listen {address}; location / {{ proxy_pass http://service; proxy_http_version 1.1;\n\
             proxy_request_buffering off; proxy_set_header Connection \"\"; }} }} }}\n"
        );
        let file = folder.path().join("nginx.conf");
        fs::write(&file, text).unwrap();
        let child = Command::new("nginx").arg("-c").arg(&file).arg("-p").arg(folder.path()).spawn().unwrap();
        let proxy = Self { child, address, _folder: folder };
        let begun = Instant::now();
        while TcpStream::connect(address).is_err() {
            assert!(begun.elapsed() < Duration::from_secs(10), "nginx does not listen");
        }
        Some(proxy)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // Killed, it would leave its worker behind.
        let _ = Command::new("kill").args(["-s", "TERM", &self.child.id().to_string()]).status();
        let _ = self.child.wait();
    }
}

#[test]
fn hostile_requests_through_nginx_never_change_the_answer_of_the_next_client() {
    let mut service = Program::serving(&["serve"]).env("COMPANION_LOG__LEVEL", "error").start();
    let Some(proxy) = Proxy::before(&service.public()) else {
        println!("hostile: skipped, as nginx is not installed");
        return;
    };
    let mut asked = 0;
    for (name, bytes) in cases() {
        exchange(proxy.address, &bytes);
        // One connection to the service is shared by all, so whatever was left on it would come first.
        for _ in 0..2 {
            let mut client = Kept::to(&proxy.address.to_string()).unwrap();
            let answer = client.get("/nothing", &[("X-Request-Id", "next")]).unwrap();
            let body = String::from_utf8(answer.body).unwrap();
            assert_eq!(answer.status, 404, "{name}: {body}");
            assert!(body.contains("\"request_id\":\"next\"") && !body.contains(HIDDEN), "{name}: {body}");
            asked += 1;
        }
    }
    println!("hostile: {asked} clients after hidden requests through nginx: each got their own answer");
}
