//! One request and its response: no redirects, no proxy, no compression, and limits on time and size; and errors without
//! content of a response.

use crate::settings::{ApiBase, Settings, SettingsError};
use companion_domain::{
    port::{Cause, IdentityError, IdentityErrorKind},
    request::{Part, RequestContext, note},
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use std::{sync::Arc, time::Duration};
use tokio::time::{Instant, timeout_at};

pub(crate) type Request = http::Request<Vec<u8>>;
pub(crate) type Answer = http::Response<Vec<u8>>;

/// Idle connections are closed before the platform closes them, so that no code is sent into a closing connection. Some
/// servers close them after five seconds.
const IDLE_TIMEOUT: Duration = Duration::from_secs(3);

/// The request id, sent so that the logs of both sides can be correlated.
const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

#[derive(Debug, Clone)]
pub(crate) struct HttpClient {
    inner: reqwest::Client,
    max_response_bytes: usize,
}

impl HttpClient {
    pub(crate) fn new(settings: &Settings, base: &ApiBase) -> Result<Self, SettingsError> {
        let unbuilt = |error: reqwest::Error| SettingsError::Client(error.into());
        let agent = HeaderValue::from_str(&settings.user_agent).ok();
        let agent = agent.filter(|agent| !agent.is_empty() && agent.to_str().is_ok());
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        let inner = reqwest::Client::builder()
            .user_agent(agent.ok_or(SettingsError::UserAgent)?)
            .default_headers(headers)
            .tls_backend_preconfigured(
                tls(base.is_https).map_err(|error| SettingsError::Client(error.into()))?,
            )
            .https_only(base.is_https)
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .connect_timeout(settings.deadlines.connect)
            .pool_idle_timeout(IDLE_TIMEOUT)
            .pool_max_idle_per_host(settings.limits.max_concurrent_calls)
            .build()
            .map_err(unbuilt)?;
        Ok(Self { inner, max_response_bytes: settings.limits.max_response_bytes })
    }

    /// Sends the request once, and reads the whole response.
    pub(crate) async fn send(&self, request: Request, until: Instant) -> Result<Answer, IdentityError> {
        let mut request = reqwest::Request::try_from(request).map_err(invalid)?;
        let id = RequestContext::current().and_then(|context| HeaderValue::from_str(context.id()).ok());
        if let Some(id) = id {
            request.headers_mut().insert(X_REQUEST_ID, id);
        }
        let began = Instant::now();
        let answer = timeout_at(until, self.exchange(request)).await;
        note(Part::Provider, began.elapsed());
        answer.map_err(|_| IdentityError::new(IdentityErrorKind::TimedOut, "the call timed out"))?
    }

    async fn exchange(&self, request: reqwest::Request) -> Result<Answer, IdentityError> {
        let mut response = self.inner.execute(request).await.map_err(of_client)?;
        let (status, headers) = (response.status(), response.headers().clone());
        let body = self.body(&mut response).await;
        let body = if status.is_success() {
            body?
        } else {
            // The status of an error is enough if its body cannot be read.
            body.unwrap_or_default()
        };
        let mut answer = Answer::new(body);
        *answer.status_mut() = status;
        *answer.headers_mut() = headers;
        Ok(answer)
    }

    async fn body(&self, response: &mut reqwest::Response) -> Result<Vec<u8>, IdentityError> {
        let encodings = response.headers().get_all(header::CONTENT_ENCODING);
        if encodings.iter().any(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity")) {
            return Err(failed("the answer is compressed, which was not requested"));
        }
        let too_large = || failed(format!("the answer is larger than {} bytes", self.max_response_bytes));
        let announced = response.content_length().map_or(Ok(0), usize::try_from);
        if announced.map_err(|_| too_large())? > self.max_response_bytes {
            return Err(too_large());
        }
        let mut body = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(of_client)? {
            if piece.len() > self.max_response_bytes.saturating_sub(body.len()) {
                return Err(too_large());
            }
            body.extend_from_slice(&piece);
        }
        Ok(body)
    }
}

/// Returns an error for a request that cannot be built. The reason might quote a secret.
pub(crate) fn invalid<E>(_: E) -> IdentityError {
    failed("the request cannot be built")
}

/// Returns whether the platform counts a response with this status towards a ban of our address.
pub(crate) const fn counts_as_refused(status: StatusCode) -> bool {
    matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::TOO_MANY_REQUESTS)
}

/// Returns the TLS configuration used for the platform, for connectivity checks.
///
/// # Errors
/// Returns an error if the cryptography of this machine cannot be used.
pub fn platform_tls() -> Result<ClientConfig, rustls::Error> {
    tls(true)
}

/// Returns a TLS configuration with the root certificates of this machine, or with the built-in ones if it has none, as
/// in a minimal container.
///
/// The crypto provider is set explicitly, so that nothing depends on a process-wide default.
pub(crate) fn tls(is_https: bool) -> Result<ClientConfig, rustls::Error> {
    let mut roots = RootCertStore::empty();
    if is_https {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() {
            roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        }
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    Ok(config.with_safe_default_protocol_versions()?.with_root_certificates(roots).with_no_client_auth())
}

/// Returns an error for a call that failed. The cause must not quote the response.
pub(crate) fn failed(cause: impl Into<Cause>) -> IdentityError {
    IdentityError::new(IdentityErrorKind::Failed, cause)
}

/// Returns an error for a call that was not sent, or that the platform limited.
pub(crate) fn limited(reason: &'static str, wait: Duration) -> IdentityError {
    IdentityError::new(IdentityErrorKind::Limited(wait), reason)
}

pub(crate) fn unexpected(status: StatusCode) -> IdentityError {
    failed(format!("the answer has status {}", status.as_u16()))
}

/// Converts an error of the HTTP client. The URL is removed, because the error may be shown.
pub(crate) fn of_client(error: reqwest::Error) -> IdentityError {
    let kind = if error.is_connect() { IdentityErrorKind::Unreachable } else { IdentityErrorKind::Failed };
    IdentityError::new(kind, error.without_url())
}

/// Converts a JSON error. Only the position is kept, because the parser's message would quote the response.
pub(crate) fn of_json(error: &serde_json::Error) -> IdentityError {
    let what = match error.classify() {
        serde_json::error::Category::Io => "truncated",
        serde_json::error::Category::Syntax => "not JSON",
        serde_json::error::Category::Data => "JSON of another shape",
        serde_json::error::Category::Eof => "incomplete JSON",
    };
    let (line, column) = (error.line(), error.column());
    failed(format!("the answer cannot be read: {what}, line {line}, column {column}"))
}
