//! TLS of our own, by files.

use crate::{program::Program, stage::until};
use rcgen::{CertificateParams, CertifiedKey, KeyPair, date_time_ymd, generate_simple_self_signed};
use rustix::fs::{CWD, Mode, mkfifoat};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned,
    pki_types::{CertificateDer, ServerName},
};
use std::{
    io::{self, Read as _, Write as _},
    net::TcpStream,
    path::Path,
    sync::Arc,
    time::Duration,
};

pub(crate) fn made() -> CertifiedKey<KeyPair> {
    generate_simple_self_signed(["localhost".to_owned()]).unwrap()
}

pub(crate) fn written(folder: &Path, made: &CertifiedKey<KeyPair>) {
    std::fs::write(folder.join("certificate.pem"), made.cert.pem()).unwrap();
    std::fs::write(folder.join("key.pem"), made.signing_key.serialize_pem()).unwrap();
}

fn program(arguments: &[&str]) -> Program {
    Program::serving(arguments)
        .env("COMPANION_HTTP__TLS_CERTIFICATE", "certificate.pem")
        .env("COMPANION_HTTP__TLS_KEY", "key.pem")
        .env("COMPANION_LOG__FORMAT", "json")
}

/// A connection by someone who trusts this certificate alone.
fn connect(
    address: &str,
    trusted: &CertifiedKey<KeyPair>,
) -> io::Result<StreamOwned<ClientConnection, TcpStream>> {
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
    Ok(stream)
}

fn get(stream: &mut StreamOwned<ClientConnection, TcpStream>, path: &str) -> io::Result<String> {
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes())?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        head.extend(byte);
    }
    let head = String::from_utf8(head).unwrap();
    let lower = head.to_ascii_lowercase();
    let length = lower.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    stream.read_exact(&mut vec![0; length.parse().unwrap()])?;
    Ok(head)
}

#[test]
fn both_listeners_for_people_speak_tls_and_show_a_renewed_certificate_without_dropping_anyone() {
    let (old, new) = (made(), made());
    let program = program(&["serve"])
        .env("COMPANION_DASHBOARD__LISTEN", "127.0.0.1:0")
        .env("COMPANION_DASHBOARD__URL", "https://dashboard.example");
    let folder = program.folder().to_owned();
    written(&folder, &old);
    let mut service = program.start();
    let public = service.said("Public API:").split("https://").nth(1).unwrap().trim().to_owned();
    let dashboard = service.said("Dashboard:");
    let dashboard = dashboard.split("listens on ").nth(1).unwrap().trim_end_matches(')').to_owned();
    assert!(service.management().starts_with("127."), "the management API stays plain");
    let mut first = connect(&public, &old).unwrap();
    let answers = [get(&mut first, "/team"), get(&mut connect(&dashboard, &old).unwrap(), "/")];
    for answer in answers.map(Result::unwrap) {
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(answer.contains("strict-transport-security: max-age=31536000\r\n"), "{answer}");
    }

    // First a pair that is broken, which changes nothing.
    std::fs::write(folder.join("key.pem"), made().signing_key.serialize_pem()).unwrap();
    assert!(get(&mut connect(&public, &old).unwrap(), "/team").unwrap().starts_with("HTTP/1.1 200"));
    written(&folder, &new);
    until("the new certificate is shown", Duration::from_secs(20), || {
        connect(&public, &new).and_then(|mut stream| get(&mut stream, "/team")).is_ok()
    });
    assert!(get(&mut connect(&dashboard, &new).unwrap(), "/").unwrap().starts_with("HTTP/1.1 200"));
    assert!(get(&mut first, "/team").unwrap().starts_with("HTTP/1.1 200"), "who was there before goes on");
    service.signal("TERM");
    assert_eq!(service.finish().code, Some(0));
}

#[test]
fn files_that_are_no_pair_are_refused_before_anything_starts() {
    let (one, other) = (made(), made());
    let (certificate, key) = (one.cert.pem(), one.signing_key.serialize_pem());
    let other_key = other.signing_key.serialize_pem();
    let cases: [(Option<&str>, Option<&str>, &str); 6] = [
        (None, Some(&key), "http.tls_certificate (taken together): certificate.pem cannot be read"),
        (Some(&certificate), None, "http.tls_key (taken together): key.pem cannot be read"),
        (
            Some("nothing"),
            Some(&key),
            "http.tls_certificate (taken together): certificate.pem holds no certificate",
        ),
        (Some(&certificate), Some("nothing"), "http.tls_key (taken together): key.pem holds no private key"),
        (
            Some(&certificate),
            Some(&other_key),
            "http.tls_key (taken together): key.pem is not the key of the certificate",
        ),
        (
            Some(&key),
            Some(&key),
            "http.tls_certificate (taken together): certificate.pem holds no certificate",
        ),
    ];
    for (certificate, key, said) in cases {
        for command in [&["serve"][..], &["config", "check"]] {
            let mut program = program(command);
            for (name, content) in [("certificate.pem", certificate), ("key.pem", key)] {
                if let Some(content) = content {
                    program = program.file(name, content);
                }
            }
            let finished = program.finish();
            assert_eq!(finished.code, Some(2), "{said}: {}", finished.err);
            assert!(
                finished.err.contains(said) && finished.err.contains("fix: "),
                "{said}: {}",
                finished.err
            );
            assert!(!finished.err.contains("PRIVATE"), "{}", finished.err);
        }
    }
    let fifo = program(&["config", "check"]).file("certificate.pem", &certificate);
    mkfifoat(CWD, fifo.folder().join("key.pem"), Mode::RUSR | Mode::WUSR).unwrap();
    let fifo = fifo.finish();
    let said = "http.tls_key (taken together): key.pem cannot be read: it is not a regular file";
    assert!(fifo.code == Some(2) && fifo.err.contains(said), "{}", fifo.err);
    let half = Program::serving(&["serve"]).env("COMPANION_HTTP__TLS_KEY", "key.pem").finish();
    assert!(
        half.err.contains("http.tls_certificate (taken together): must be set together with http.tls_key")
    );
}

#[test]
fn an_expired_certificate_is_warned_of_and_served() {
    let mut parameters = CertificateParams::new(["localhost".to_owned()]).unwrap();
    parameters.not_after = date_time_ymd(2020, 1, 1);
    let signing_key = KeyPair::generate().unwrap();
    let cert = parameters.self_signed(&signing_key).unwrap();
    let program = program(&["serve"]);
    written(program.folder(), &CertifiedKey { cert, signing_key });
    let mut service = program.start();
    service.management();
    service.signal("INT");
    let log = service.finish().err;
    assert!(log.contains("has expired, and clients will refuse it"), "{log}");
}
