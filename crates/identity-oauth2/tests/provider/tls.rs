//! The platform behind TLS, as it is in earnest.

use crate::stage::{ANYONE, Stage, USER, exchange_of, kind, settings};
use companion_domain::port::{IdentityErrorKind, IdentityProvider as _};
use companion_identity_oauth2::OauthIdentity;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use std::{net::SocketAddr, process::Command, sync::Arc};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{ServerConfig, crypto::ring, pki_types::PrivateKeyDer},
};

/// Where the second process finds the certificate and the key that the first one made.
const CERTIFICATE: &str = "SSL_CERT_FILE";
const KEY: &str = "TEST_KEY_FILE";

/// Takes TLS connections, and passes what is inside on to the platform.
async fn tls_before(platform: SocketAddr, certificate: &str, key: &str) -> SocketAddr {
    let certificates = pem_blocks(certificate).map(Into::into).collect();
    let key = PrivateKeyDer::Pkcs8(pem_blocks(key).next().unwrap().into());
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

fn pem_blocks(text: &str) -> impl Iterator<Item = Vec<u8>> {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    let blocks = text.split("-----BEGIN ").skip(1);
    blocks.map(|block| {
        let lines = block.lines().skip(1).take_while(|line| !line.starts_with("-----"));
        STANDARD.decode(lines.collect::<String>()).unwrap()
    })
}

fn self_signed() -> CertifiedKey<rcgen::KeyPair> {
    generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap()
}

#[tokio::test]
async fn a_certificate_that_nobody_vouches_for_is_not_talked_to() {
    let stage = Stage::new();
    let made = self_signed();
    let key = made.signing_key.serialize_pem();
    let address = tls_before(stage.running.address(), &made.cert.pem(), &key).await;
    let settings = settings(&format!("https://{address}/api/v10"), "https://cdn.example");
    let provider = OauthIdentity::new(&settings, Arc::clone(&stage.clock) as _).unwrap();
    let refused = provider.exchange(&exchange_of(stage.code())).await;
    assert_eq!(kind(refused), IdentityErrorKind::Unreachable);
    assert_eq!(stage.control.calls(companion_dev_identity::Route::Token), 0);
}

/// Which roots a machine has is said by its environment, so a second process does the signing in.
#[test]
fn a_platform_that_this_machine_vouches_for_is_talked_to() {
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = (folder.path().join("certificate.pem"), folder.path().join("key.pem"));
    let made = self_signed();
    std::fs::write(&certificate, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--ignored", "tls::in_the_second_process_a_user_signs_in_over_tls"])
        .env(CERTIFICATE, certificate)
        .env(KEY, key)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

#[tokio::test]
#[ignore = "it is the second half of another test, which starts it"]
async fn in_the_second_process_a_user_signs_in_over_tls() {
    let read = |variable| std::fs::read_to_string(std::env::var(variable).unwrap()).unwrap();
    let stage = Stage::new();
    let address = tls_before(stage.running.address(), &read(CERTIFICATE), &read(KEY)).await;
    let settings = settings(&format!("https://{address}/api/v10"), "https://cdn.example");
    let provider = OauthIdentity::new(&settings, Arc::clone(&stage.clock) as _).unwrap();
    let tokens = provider.exchange(&exchange_of(stage.code())).await.unwrap();
    assert_eq!(provider.user(ANYONE, &tokens.access).await.unwrap().id.get(), USER);
}
