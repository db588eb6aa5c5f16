//! TLS termination.

use crate::{client::limits, service::Service};
use companion_http::{RunningServer, ServerLimits, Socket, Tls, TlsError, TlsIdentity, serve_public};
use companion_testkit::world::a_user;
use rcgen::{CertifiedKey, KeyPair, generate_simple_self_signed};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, ServerName},
};
use std::{net::TcpListener, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

fn made() -> CertifiedKey<KeyPair> {
    generate_simple_self_signed(["localhost".to_owned()]).unwrap()
}

fn identity(made: &CertifiedKey<KeyPair>) -> TlsIdentity {
    TlsIdentity::from_pem(made.cert.pem().as_bytes(), made.signing_key.serialize_pem().as_bytes()).unwrap()
}

fn listening(service: &Service, tls: &Tls, limits: ServerLimits) -> RunningServer {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    serve_public(service.api.clone(), Socket { listener, tls: Some(tls.clone()), shared: false }, limits)
        .unwrap()
}

/// Connects a client that trusts only this certificate and prefers HTTP/2.
async fn connect(
    to: &RunningServer,
    trusted: &CertifiedKey<KeyPair>,
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(trusted.cert.der().to_vec())).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let mut config = config.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let stream = TcpStream::connect(to.addr()).await.unwrap();
    TlsConnector::from(Arc::new(config)).connect(ServerName::try_from("localhost").unwrap(), stream).await
}

async fn ask(client: &mut TlsStream<TcpStream>, request: &str) -> String {
    client.write_all(request.as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(client.read_u8().await.unwrap());
    }
    let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    client.read_exact(&mut body).await.unwrap();
    head + &String::from_utf8(body).unwrap()
}

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

#[actix_web::test]
async fn serves_http_1_1_over_tls() {
    let (service, made) = (Service::new().await, made());
    let listening = listening(&service, &Tls::new(identity(&made)), limits());
    let mut client = connect(&listening, &made).await.unwrap();
    assert_eq!(client.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
    for _ in 0..3 {
        assert!(ask(&mut client, GET).await.starts_with("http/1.1 200 ok"));
    }
    let code = service.code_of(a_user(1), vec![]);
    let sign_in = format!("POST /auth HTTP/1.1\r\nHost: a\r\nIdp-Code: {code}\r\n\r\n");
    assert!(ask(&mut client, &sign_in).await.contains("\"token\":\"cmp_"));
}

#[actix_web::test]
async fn times_out_unfinished_handshakes() {
    let (service, made) = (Service::new().await, made());
    let impatient = ServerLimits { request_head: Duration::from_millis(200), ..limits() };
    let listening = listening(&service, &Tls::new(identity(&made)), impatient);
    // The beginning of a handshake, nothing at all, and an incomplete first record.
    let hello = [&[0x16, 3, 1, 0, 200, 1, 0, 0, 196][..], &[0; 20]].concat();
    for sent in [&b"\x16"[..], b"", &hello] {
        let mut silent = TcpStream::connect(listening.addr()).await.unwrap();
        silent.write_all(sent).await.unwrap();
        let mut received = Vec::new();
        let _ = silent.read_to_end(&mut received).await;
        assert_eq!(received, b"", "no plain bytes are written");
    }
    let metrics = service.metrics().await;
    assert!(
        metrics.contains(r#"companion_connections_ended_total{listener="public",reason="cut_off"} 3"#),
        "{metrics}"
    );
}

#[actix_web::test]
async fn rejects_plain_http_on_a_tls_port() {
    let (service, made) = (Service::new().await, made());
    let listening = listening(&service, &Tls::new(identity(&made)), limits());
    let mut plain = TcpStream::connect(listening.addr()).await.unwrap();
    plain.write_all(GET.as_bytes()).await.unwrap();
    let mut received = String::new();
    plain.read_to_string(&mut received).await.unwrap();
    assert!(received.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{received}");
    assert!(received.ends_with("\r\n\r\nThis port speaks HTTPS.\n"), "{received}");
}

#[actix_web::test]
async fn stop_does_not_wait_for_handshakes() {
    let (service, made) = (Service::new().await, made());
    let listening = listening(
        &service,
        &Tls::new(identity(&made)),
        ServerLimits { drain: Duration::from_millis(300), ..limits() },
    );
    let mut silent = TcpStream::connect(listening.addr()).await.unwrap();
    silent.write_all(b"\x16").await.unwrap();
    let mut client = connect(&listening, &made).await.unwrap();
    assert!(ask(&mut client, GET).await.starts_with("http/1.1 200 ok"));
    listening.stop().await.unwrap();
    let mut rest = Vec::new();
    client.read_to_end(&mut rest).await.unwrap();
    assert_eq!(rest, b"", "the stream ends with close_notify");
}

#[test]
fn distinguishes_errors_of_certificate_and_key() {
    let (one, other) = (made(), made());
    let tls_error = |certificate: &str, key: &str| {
        TlsIdentity::from_pem(certificate.as_bytes(), key.as_bytes()).unwrap_err()
    };
    let (certificate, key) = (one.cert.pem(), one.signing_key.serialize_pem());
    assert_eq!(tls_error("", &key), TlsError::NoCertificate);
    assert_eq!(tls_error(&key, &key), TlsError::NoCertificate);
    assert_eq!(tls_error(&certificate, &certificate), TlsError::NoKey);
    assert_eq!(tls_error(&certificate, &other.signing_key.serialize_pem()), TlsError::Mismatch);
}
