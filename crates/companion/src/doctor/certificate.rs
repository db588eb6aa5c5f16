//! Checks the TLS certificate, and pins it for requests to our own listeners.

use super::check::{Check, Installation, Subject};
use crate::{configuration::TlsFiles, system::SystemClock};
use companion_domain::port::Clock as _;
use companion_http::TlsIdentity;
use rustls::{
    ClientConfig, DigitallySignedStruct, Error, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{WebPkiSupportedAlgorithms, ring, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime},
};
use std::{sync::Arc, time::Duration};

const CERTIFICATE: Subject = Subject::new("certificate", "http.tls_certificate");
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// In days. Certificates are usually renewed automatically long before.
const RENEWAL_DUE: u64 = 14;

/// Reads the certificate that listeners should present. Returns `None` if they speak plain HTTP, and only the check if the
/// certificate cannot be used.
pub(super) fn read(installation: &Installation) -> Option<(Check, Option<CertificateDer<'static>>)> {
    let http = &installation.configuration.http;
    if http.tls_certificate.is_none() && http.tls_key.is_none() {
        return None;
    }
    if let Err(skipped) = installation.needs(CERTIFICATE, &["http.tls_certificate", "http.tls_key"]) {
        return Some((skipped, None));
    }
    let files = TlsFiles::of(http)?;
    Some(match files.read().and_then(|text| files.identity(&text)) {
        Err(error) => {
            let cause = format!("{} {}", error.key, error.problem);
            (CERTIFICATE.failed(cause, error.fix), None)
        }
        Ok(identity) => (check_expiry(&identity), Some(identity.certificate().clone())),
    })
}

fn check_expiry(identity: &TlsIdentity) -> Check {
    let now = SystemClock.now();
    let renew = "renew it; the service takes the new one up without a restart";
    let Some(end) = identity.ends_at() else { return CERTIFICATE.ok("fits its key") };
    let days = end.since(now).as_secs() / DAY.as_secs();
    if end <= now {
        CERTIFICATE.failed("has expired, and clients refuse it", renew)
    } else if days < RENEWAL_DUE {
        CERTIFICATE.warning(format!("ends in {days} days"), renew)
    } else {
        CERTIFICATE.ok(format!("fits its key, and ends in {days} days"))
    }
}

/// Returns a client configuration that accepts exactly this certificate, whatever its issuer and names.
pub(super) fn pinned(certificate: CertificateDer<'static>) -> Result<ClientConfig, Error> {
    let provider = ring::default_provider();
    let verifier = Pinned { certificate, algorithms: provider.signature_verification_algorithms };
    Ok(ClientConfig::builder_with_provider(Arc::new(provider))
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth())
}

#[derive(Debug)]
struct Pinned {
    certificate: CertificateDer<'static>,
    algorithms: WebPkiSupportedAlgorithms,
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
        verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
