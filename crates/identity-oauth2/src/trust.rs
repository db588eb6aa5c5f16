//! Whom we believe to be the platform.

use rustls::{ClientConfig, RootCertStore, crypto::ring};
use std::sync::Arc;

/// TLS as the platform is spoken to, for those who look whether it can be.
///
/// # Errors
/// Where the machine's cryptography cannot be used.
pub fn platform_tls() -> Result<ClientConfig, rustls::Error> {
    tls(true)
}

/// TLS with the roots of this machine, or with those that were built in where it has none, as in a bare container.
///
/// The provider of cryptography is named here, so that nothing depends on one for the whole process.
pub(crate) fn tls(https: bool) -> Result<ClientConfig, rustls::Error> {
    let mut roots = RootCertStore::empty();
    if https {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() {
            roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        }
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    Ok(config.with_safe_default_protocol_versions()?.with_root_certificates(roots).with_no_client_auth())
}
