//! TLS termination: the certificate of a listener and its streams.

use arc_swap::ArcSwap;
use companion_domain::model::Timestamp;
use rustls::{
    CertificateError, RootCertStore, ServerConfig,
    client::verify_server_cert_signed_by_trust_anchor,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, UnixTime, pem::PemObject as _},
    server::ParsedCertificate,
};
use std::{fmt, future::Future, io, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

/// The only ALPN protocol.
const HTTP_1_1: &[u8] = b"http/1.1";

/// Content type of a TLS handshake record, the first byte that a TLS client sends.
const HANDSHAKE: u8 = 0x16;

/// Response to a client that speaks plain HTTP on a TLS port.
const PLAIN_HTTP_RESPONSE: &[u8] =
    b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain\r\ncontent-length: 24\r\n\
    connection: close\r\n\r\nThis port speaks HTTPS.\n";

/// Sent to a client that did not send a request in time.
pub(crate) const REQUEST_TIMEOUT: &[u8] =
    b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

/// A certificate chain and its private key.
#[derive(Clone)]
pub struct TlsIdentity {
    config: Arc<ServerConfig>,
    certificate: CertificateDer<'static>,
}

/// Why a certificate and key cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TlsError {
    /// The certificate is missing or unreadable.
    #[error("holds no certificate in PEM")]
    NoCertificate,
    /// The key is missing or unreadable.
    #[error("holds no private key in PEM")]
    NoKey,
    /// The key does not belong to the certificate.
    #[error("is not the key of the certificate")]
    Mismatch,
    /// The certificate or key is not supported.
    #[error("cannot be used: {0}")]
    Unusable(String),
}

impl TlsIdentity {
    /// Parses both from PEM.
    pub fn from_pem(certificates: &[u8], key: &[u8]) -> Result<Self, TlsError> {
        let chain: Vec<_> = CertificateDer::pem_slice_iter(certificates)
            .collect::<Result<_, _>>()
            .map_err(|_| TlsError::NoCertificate)?;
        let certificate = chain.first().cloned().ok_or(TlsError::NoCertificate)?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| TlsError::NoKey)?;
        let tls_error = |error: rustls::Error| match error {
            rustls::Error::InconsistentKeys(_) => TlsError::Mismatch,
            other => TlsError::Unusable(other.to_string()),
        };
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(tls_error)?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(tls_error)?;
        config.alpn_protocols = vec![HTTP_1_1.to_vec()];
        Ok(Self { config: Arc::new(config), certificate })
    }

    /// Returns the leaf certificate.
    #[must_use]
    pub const fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// Returns when the certificate expires, or `None` if its date cannot be read.
    #[must_use]
    pub fn ends_at(&self) -> Option<Timestamp> {
        let certificate = ParsedCertificate::try_from(&self.certificate).ok()?;
        // Validity is checked first, and every certificate has expired by then: the error contains the end date.
        let then = UnixTime::since_unix_epoch(Duration::from_secs(u64::MAX));
        let verified =
            verify_server_cert_signed_by_trust_anchor(&certificate, &RootCertStore::empty(), &[], then, &[]);
        match verified {
            Err(rustls::Error::InvalidCertificate(CertificateError::ExpiredContext {
                not_after, ..
            })) => Timestamp::from_seconds(not_after.as_secs().try_into().ok()?).ok(),
            Ok(()) | Err(_) => None,
        }
    }
}

impl fmt::Debug for TlsIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TlsIdentity")
    }
}

/// The TLS identity of listeners, replaceable while they run. Clones share it.
#[derive(Debug, Clone)]
pub struct Tls(Arc<ArcSwap<TlsIdentity>>);

impl Tls {
    /// Creates it with this identity.
    #[must_use]
    pub fn new(identity: TlsIdentity) -> Self {
        Self(Arc::new(ArcSwap::from_pointee(identity)))
    }

    /// Replaces the identity for new connections. Existing ones keep theirs.
    pub fn exchange(&self, identity: TlsIdentity) {
        self.0.store(Arc::new(identity));
    }
}

/// How a connection carries HTTP. Chosen once per listener, so that plain HTTP pays nothing for TLS.
pub(crate) trait Transport: Clone + 'static {
    /// The stream that carries HTTP.
    type Stream: AsyncRead + AsyncWrite + Unpin + 'static;

    /// Sent to a client that sent no byte in time.
    const REQUEST_TIMEOUT: &'static [u8];

    /// Opens the stream of a client that has sent its first byte.
    fn open(&self, stream: TcpStream) -> impl Future<Output = io::Result<Self::Stream>>;
}

/// Plain TCP.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plain;

impl Transport for Plain {
    type Stream = TcpStream;

    const REQUEST_TIMEOUT: &'static [u8] = REQUEST_TIMEOUT;

    async fn open(&self, stream: TcpStream) -> io::Result<TcpStream> {
        Ok(stream)
    }
}

impl Transport for Tls {
    type Stream = TlsStream<TcpStream>;

    /// Empty: a client without a completed handshake could not read it.
    const REQUEST_TIMEOUT: &'static [u8] = b"";

    async fn open(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        let mut first = [0];
        if stream.peek(&mut first).await? == 1 && first != [HANDSHAKE] {
            return Err(reject_plain_http(&stream));
        }
        let config = Arc::clone(&self.0.load().config);
        TlsAcceptor::from(config).accept(stream).await
    }
}

/// Responds in plain HTTP that the port speaks HTTPS. Received bytes are read first: closing a socket with unread data
/// resets the connection and can destroy the response.
fn reject_plain_http(stream: &TcpStream) -> io::Error {
    let mut sent = [0; 4096];
    let _ = stream.try_read(&mut sent);
    let _ = stream.try_write(PLAIN_HTTP_RESPONSE);
    io::Error::new(io::ErrorKind::InvalidData, "the client does not speak TLS")
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};

    #[test]
    fn reads_expiry_as_utc_time_and_generalized_time() {
        for ((year, month, day), seconds) in [
            ((2024, 2, 29), 1_709_164_800),
            ((2026, 11, 16), 1_794_787_200),
            ((1999, 12, 31), 946_598_400),
            ((2049, 12, 31), 2_524_521_600),
            ((2050, 1, 1), 2_524_608_000),
            ((2100, 3, 1), 4_107_542_400),
            ((9999, 12, 31), 253_402_214_400),
        ] {
            let mut parameters = CertificateParams::new(["localhost".to_owned()]).unwrap();
            parameters.not_before = date_time_ymd(1990, 1, 1);
            parameters.not_after = date_time_ymd(year, month, day);
            let key = KeyPair::generate().unwrap();
            let certificate = parameters.self_signed(&key).unwrap();
            let identity =
                TlsIdentity::from_pem(certificate.pem().as_bytes(), key.serialize_pem().as_bytes());
            let end = Timestamp::from_seconds(seconds).unwrap();
            assert_eq!(identity.unwrap().ends_at(), Some(end), "{year}");
        }
    }
}
