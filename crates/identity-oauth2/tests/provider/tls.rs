//! The platform behind TLS; rejected settings; and the headers of a request.

use crate::stage::{CLIENT, Stage, USER, exchange_of, kind, provider, secret, settings};
use companion_domain::{
    port::{IdentityErrorKind, IdentityProvider as _},
    request::{Part, RequestContext, carried},
};
use companion_identity_oauth2::{OauthIdentity, SettingsError};
use companion_storage_memory::MemoryStorage;
use companion_testkit::clock::FixedClock;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use std::{net::SocketAddr, process::Command, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional},
    net::{TcpListener, TcpStream},
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        crypto::ring,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    },
};

/// Environment variables that pass the certificate and key to the second process.
const CERTIFICATE: &str = "SSL_CERT_FILE";
const KEY: &str = "TEST_KEY_FILE";

/// Terminates TLS, and forwards the traffic to the platform.
async fn tls_before(platform: SocketAddr, certificate: &str, key: &str) -> SocketAddr {
    let certificates = vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(certificates, key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                if let Ok(mut inside) = acceptor.accept(stream).await {
                    let mut behind = TcpStream::connect(platform).await.unwrap();
                    let _ = copy_bidirectional(&mut inside, &mut behind).await;
                }
            });
        }
    });
    address
}

fn self_signed() -> CertifiedKey<rcgen::KeyPair> {
    generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap()
}

#[tokio::test]
async fn rejects_an_untrusted_certificate() {
    let stage = Stage::new();
    let made = self_signed();
    let key = made.signing_key.serialize_pem();
    let address = tls_before(stage.running.address(), &made.cert.pem(), &key).await;
    let settings = settings(&format!("https://{address}/api/v10"), "https://cdn.example");
    let provider = provider(&settings, &stage.clock);
    let refused = provider.exchange(&exchange_of(stage.code())).await;
    assert_eq!(kind(refused), IdentityErrorKind::Unreachable);
    assert_eq!(stage.control.calls(companion_dev_identity::Route::Token), 0);
}

/// The environment decides the root certificates, so a second process signs in.
#[test]
fn accepts_a_certificate_trusted_by_this_machine() {
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = (folder.path().join("certificate.pem"), folder.path().join("key.pem"));
    let made = self_signed();
    std::fs::write(&certificate, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--ignored", "tls::second_process_signs_in_over_tls"])
        .env(CERTIFICATE, certificate)
        .env(KEY, key)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

#[tokio::test]
#[ignore = "it is the second half of another test, which starts it"]
async fn second_process_signs_in_over_tls() {
    let read = |variable| std::fs::read_to_string(std::env::var(variable).unwrap()).unwrap();
    let stage = Stage::new();
    let address = tls_before(stage.running.address(), &read(CERTIFICATE), &read(KEY)).await;
    let settings = settings(&format!("https://{address}/api/v10"), "https://cdn.example");
    let provider = provider(&settings, &stage.clock);
    let tokens = provider.exchange(&exchange_of(stage.code())).await.unwrap();
    assert_eq!(provider.user(CLIENT, &tokens.access).await.unwrap().id.get(), USER);
}

fn build(api_url: &str, user_agent: &str) -> Result<OauthIdentity, SettingsError> {
    let mut settings = settings(api_url, "https://cdn.example");
    settings.user_agent = user_agent.to_owned();
    OauthIdentity::new(&settings, Arc::new(FixedClock::default()), Arc::new(MemoryStorage::new()))
}

#[test]
fn rejects_an_unprintable_user_agent() {
    for agent in ["", "a\nb", "ä"] {
        assert!(
            matches!(build("https://platform.example", agent), Err(SettingsError::UserAgent)),
            "{agent:?}"
        );
    }
}

#[tokio::test]
async fn every_request_has_a_user_agent_and_asks_for_plain_json() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let api_url = format!("http://{}/base/", listener.local_addr().unwrap());
    let provider = build(&api_url, "Companion (https://companion.example, 1)").unwrap();
    let heard = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\n{\"id\": \"7\", \"username\": \"abc\"}";
        stream.write_all(answer.as_bytes()).await.unwrap();
        String::from_utf8(head).unwrap().to_lowercase()
    };
    let access = secret("AN-access-token");
    let request = RequestContext::new("the-one");
    let asked = request.within(|| carried(provider.user(CLIENT, &access)));
    let (user, head) = tokio::join!(asked, heard);
    assert_eq!(user.unwrap().username.as_str(), "abc");
    assert!(head.starts_with("get /base/users/@me http/1.1\r\n"), "{head}");
    for line in [
        "user-agent: companion (https://companion.example, 1)",
        "accept-encoding: identity",
        "accept: application/json",
        "authorization: bearer an-access-token",
        "x-request-id: the-one",
    ] {
        assert_eq!(head.lines().filter(|found| *found == line).count(), 1, "{line} in {head}");
    }
    assert!(request.spent(Part::Provider) > Duration::ZERO);
}

#[tokio::test]
async fn does_not_send_a_token_that_fits_no_header() {
    let stage = Stage::new();
    assert!(stage.provider.user(CLIENT, &secret("a\r\nb: c")).await.is_err());
    assert_eq!(stage.control.calls(companion_dev_identity::Route::User), 0);
}
