//! Checks the TLS certificate, and pins it for requests to our own listeners.

use super::check::{Check, Installation, Subject};
use crate::{configuration::TlsFiles, system::SystemClock};
use companion_domain::port::Clock as _;
use companion_http::TlsIdentity;
use rustls::{
    ClientConfig, DigitallySignedStruct, Error, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime},
};
use std::{sync::Arc, time::Duration};

const CERTIFICATE: Subject = Subject::new("certificate", "http.tls_certificate");
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// Certificates are usually renewed automatically long before.
const RENEWAL_DUE: Duration = Duration::from_secs(14 * 24 * 60 * 60);

/// The certificate that listeners should present.
pub(super) struct OwnCertificate {
    pub(super) check: Check,
    /// `None` if it cannot be used.
    pub(super) shown: Option<CertificateDer<'static>>,
}

/// Reads the certificate. Returns `None` if listeners speak plain HTTP.
pub(super) fn read(installation: &Installation) -> Option<OwnCertificate> {
    let http = &installation.configuration.http;
    if http.tls_certificate.is_none() && http.tls_key.is_none() {
        return None;
    }
    if let Err(check) = installation.needs(CERTIFICATE, &["http.tls_certificate", "http.tls_key"]) {
        return Some(OwnCertificate { check, shown: None });
    }
    let files = TlsFiles::of(http)?;
    Some(match files.read().and_then(|text| files.identity(&text)) {
        Err(error) => {
            let cause = format!("{} {}", error.key, error.problem);
            OwnCertificate { check: CERTIFICATE.failed(cause, error.fix), shown: None }
        }
        Ok(identity) => {
            OwnCertificate { check: check_expiry(&identity), shown: Some(identity.certificate().clone()) }
        }
    })
}

fn check_expiry(identity: &TlsIdentity) -> Check {
    let now = SystemClock.now();
    let renew = "renew it; the service takes the new one up without a restart";
    match identity.ends_at() {
        Some(end) if end <= now => CERTIFICATE.failed("has expired, and clients refuse it", renew),
        Some(end) if end.since(now) < RENEWAL_DUE => {
            CERTIFICATE.warning(format!("ends in {} days", end.since(now).as_secs() / DAY.as_secs()), renew)
        }
        Some(end) => CERTIFICATE
            .ok(format!("fits its key, and ends in {} days", end.since(now).as_secs() / DAY.as_secs())),
        None => CERTIFICATE.ok("fits its key"),
    }
}

/// Returns a client configuration that accepts exactly this certificate, whatever its issuer and names.
pub(super) fn pinned(certificate: CertificateDer<'static>) -> Result<ClientConfig, Error> {
    let provider = Arc::new(ring::default_provider());
    let verifier = Pinned { certificate, provider: Arc::clone(&provider) };
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth())
}

#[derive(Debug)]
struct Pinned {
    certificate: CertificateDer<'static>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if *shown == self.certificate {
            return Ok(ServerCertVerified::assertion());
        }
        Err(Error::General("it shows another certificate than http.tls_certificate has".to_owned()))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
