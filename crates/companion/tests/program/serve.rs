//! `companion serve`: its listeners, keys and certificates.

use crate::{
    http::{self, Kept},
    metrics,
    program::Program,
    stage::until,
};
use rcgen::{CertifiedKey, KeyPair, generate_simple_self_signed};
use rustix::fs::{CWD, Mode, mkfifoat};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned,
    pki_types::{CertificateDer, ServerName},
};
use serde_json::Value;
use std::{
    io::{self, Write as _},
    net::TcpStream,
    path::Path,
    sync::Arc,
    time::Duration,
};

#[test]
fn listeners_answer_on_the_logged_addresses() {
    let mut service = Program::serving(&["serve"])
        .env("COMPANION_HTTP__SIGN_OUT", "true")
        .env("COMPANION_LOG__FORMAT", "json")
        .env("COMPANION_DASHBOARD__LISTEN", "127.0.0.1:0")
        .env("COMPANION_DASHBOARD__URL", "https://dashboard.example/")
        .start();
    let (public, management) = (service.public(), service.management());
    let status = http::get(&public, "/", &[]);
    assert_eq!(status.status, 200);
    assert_eq!(status.body["data"]["version"]["name"], env!("CARGO_PKG_VERSION"));
    let sign_out = http::ask(&public, "DELETE", "/auth", &[("Token", "x")]);
    assert_eq!(sign_out.status, 401, "the configuration reaches the API");
    assert_eq!(http::get(&management, "/health/live", &[]).status, 200);
    assert_eq!(http::get(&public, "/health/ready", &[]).status, 404);
    assert_eq!(http::get(&management, "/team", &[]).status, 401, "paths are not revealed without a key");
    let health =
        |address: &str| Program::new(&["health"]).env("COMPANION_MANAGEMENT__LISTEN", address).finish();
    assert_eq!((health(&management).code, health(&management).out.as_str()), (Some(0), "ready\n"));
    let stopped = service.stop();
    for (address, said) in [(management.as_str(), management.as_str()), ("127.0.0.1:0", "management.listen")]
    {
        let asked = health(address);
        assert!(asked.code == Some(1) && asked.err.contains(said), "{}", asked.err);
    }

    assert_eq!(stopped.out, "", "the banner is an event");
    assert!(stopped.err.contains("all data is lost when the program exits"), "{}", stopped.err);
    let events =
        stopped.err.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}")));
    let events: Vec<Value> = events.collect();
    let said = |message: &str| {
        let found = events.iter().find(|event| event["message"] == message);
        found.unwrap_or_else(|| panic!("{message} in {}", stopped.err))
    };
    let serving = said("serving");
    for (field, expected) in [
        ("level", "INFO"),
        ("public", &format!("http://{public}")),
        ("management", &format!("http://{management}")),
        ("dashboard", "https://dashboard.example"),
        ("redirect_uri", "https://dashboard.example/callback"),
        ("storage", "in memory, lost at exit"),
    ] {
        assert_eq!(serving[field], expected, "{serving}");
    }
    assert!(serving["version"].as_str().unwrap().starts_with(env!("CARGO_PKG_VERSION")), "{serving}");
    said("stopped");
}

const BOT: &str = "the-key-of-the-bot-1";
const SPARE: &str = "the-key-of-the-bot-2";
const NEXT: &str = "the-key-of-the-bot-3";
const MONITORING: &str = "the-monitoring-key-1";

#[test]
fn scoped_keys_are_replaced_at_runtime_without_a_gap() {
    let keys = format!(
        r#"{{"bot": {{"key_file": "bot.key", "scopes": ["feed"]}},
            "spare": {{"key_file": "spare.key", "scopes": ["feed"]}},
            "monitoring": {{"key": "{MONITORING}", "scopes": ["metrics"]}}}}"#
    );
    let program = Program::serving(&["serve"])
        .env("COMPANION_STORAGE__URL", "sqlite:companion.db")
        .env("COMPANION_LOG__FORMAT", "json")
        .env("COMPANION_MANAGEMENT__KEYS", &keys)
        .file("bot.key", BOT)
        .file("spare.key", SPARE);
    let folder = program.folder().to_owned();
    let write = |name: &str, key: &str| std::fs::write(folder.join(name), key).unwrap();
    let mut service = program.start();
    let management = service.management();
    let status = |method: &str, path: &str, key: &str| {
        http::ask(&management, method, path, &[("Authorization", &format!("Bearer {key}"))]).status
    };
    let feed = |key: &str| status("PUT", "/bot/blocked/1", key);
    assert_eq!([feed(BOT), feed(SPARE), feed(MONITORING)], [200, 200, 403]);
    assert!(metrics::page(&management, MONITORING).contains("companion_build_info"));
    assert!(!folder.join("companion.db.management-key").exists(), "no other key is made");

    // Neither an invalid key nor a special file revokes the current key.
    std::fs::remove_file(folder.join("spare.key")).unwrap();
    mkfifoat(CWD, folder.join("spare.key"), Mode::RUSR | Mode::WUSR).unwrap();
    // As a shell redirection does it: the file is empty for a moment.
    write("bot.key", "");
    // Once this file has been read twice, the other has been read too.
    for (old, next) in [(BOT, NEXT), (NEXT, BOT), (BOT, NEXT)] {
        write("bot.key", next);
        until(next, Duration::from_secs(20), || feed(old) == 401);
        assert_eq!([feed(next), feed(SPARE)], [200, 200], "the other entry goes on");
    }
    let log = service.stop().err;
    let fifo = "key_file spare.key cannot be read: it is not a regular file";
    assert_eq!(log.matches(fifo).count(), 1, "{log}");
    for secret in [BOT, SPARE, NEXT, MONITORING] {
        assert!(!log.contains(secret), "{log}");
    }
}

pub(crate) fn certificate() -> CertifiedKey<KeyPair> {
    generate_simple_self_signed(["localhost".to_owned()]).unwrap()
}

pub(crate) fn write_certificate(folder: &Path, made: &CertifiedKey<KeyPair>) {
    std::fs::write(folder.join("certificate.pem"), made.cert.pem()).unwrap();
    std::fs::write(folder.join("key.pem"), made.signing_key.serialize_pem()).unwrap();
}

/// Connects as a client that trusts only this certificate.
fn connect_with_tls(
    address: &str,
    trusted: &CertifiedKey<KeyPair>,
) -> io::Result<Kept<StreamOwned<ClientConnection, TcpStream>>> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(trusted.cert.der().to_vec())).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_root_certificates(roots).with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    let mut stream = StreamOwned::new(
        ClientConnection::new(Arc::new(config), name).unwrap(),
        TcpStream::connect(address).unwrap(),
    );
    stream.flush()?;
    Ok(Kept::over(stream))
}

#[test]
fn a_renewed_certificate_is_used_without_dropping_connections() {
    let (old, new) = (certificate(), certificate());
    let program = Program::serving(&["serve"])
        .env("COMPANION_HTTP__TLS_CERTIFICATE", "certificate.pem")
        .env("COMPANION_HTTP__TLS_KEY", "key.pem")
        .env("COMPANION_DASHBOARD__LISTEN", "127.0.0.1:0")
        .env("COMPANION_DASHBOARD__URL", "https://dashboard.example");
    let folder = program.folder().to_owned();
    write_certificate(&folder, &old);
    let mut service = program.start();
    let public = service.said("Public API:").split("https://").nth(1).unwrap().trim().to_owned();
    let dashboard = service.said("Dashboard:");
    let dashboard = dashboard.split("listens on ").nth(1).unwrap().trim_end_matches(')').to_owned();
    assert!(service.management().starts_with("127."), "the management API stays plain");
    let get = |address: &str, trusted: &CertifiedKey<KeyPair>, path: &str| {
        connect_with_tls(address, trusted).and_then(|mut connection| connection.get(path, &[]))
    };
    let mut first = connect_with_tls(&public, &old).unwrap();
    for answer in [first.get("/team", &[]), get(&dashboard, &old, "/")].map(Result::unwrap) {
        assert_eq!(answer.status, 200);
        assert!(answer.head.contains("strict-transport-security: max-age=31536000\n"), "{}", answer.head);
    }

    // A mismatched pair changes nothing.
    std::fs::write(folder.join("key.pem"), certificate().signing_key.serialize_pem()).unwrap();
    assert_eq!(get(&public, &old, "/team").unwrap().status, 200);
    write_certificate(&folder, &new);
    until("the new certificate is shown", Duration::from_secs(20), || get(&public, &new, "/team").is_ok());
    assert_eq!(get(&dashboard, &new, "/").unwrap().status, 200);
    assert_eq!(first.get("/team", &[]).unwrap().status, 200, "who was there before goes on");
    service.stop();
}
