//! One request and its response.

use super::{ReadyResponses, Shell, cors::CorsHeaders, slow};
use crate::{
    client::Client, envelope, error::ApiError, headers::X_REQUEST_ID, request_id::RequestStart,
    routing::Routed,
};
use actix_web::{
    Error, HttpRequest, HttpResponse,
    body::{BodySize, BoxBody, MessageBody as _, SizedStream},
    dev::{ServiceRequest, ServiceResponse},
    error::InternalError,
    http::{
        Method,
        header::{self, HeaderValue},
    },
    web::Bytes,
};
use companion_domain::request::RequestContext;
use futures_util::stream;
use std::{
    any::Any,
    convert::Infallible,
    panic::{AssertUnwindSafe, catch_unwind},
    rc::Rc,
    sync::Arc,
    time::Duration,
};

/// Errors are never cached.
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
/// Browsers must not guess another media type.
const NOSNIFF: HeaderValue = HeaderValue::from_static("nosniff");
/// One year, as ASVS requires. Subdomains are not ours to decide about, and a preload list is hard to leave.
const STRICT_TRANSPORT: HeaderValue = HeaderValue::from_static("max-age=31536000");

/// What the edge needs of a request to finish its response.
pub(super) struct Exchange {
    pub(super) shell: Rc<Shell>,
    pub(super) start: RequestStart,
    cors: CorsHeaders,
    method: Method,
    /// Context for the handler; `None` if the response came from memory.
    pub(super) context: Option<Arc<RequestContext>>,
}

impl Exchange {
    /// Records an incoming request.
    pub(super) fn begin(request: &ServiceRequest, shell: &Rc<Shell>) -> Self {
        let settings = &shell.settings;
        let (headers, method) = (request.headers(), request.method().clone());
        Self {
            shell: Rc::clone(shell),
            start: RequestStart::new(headers, &*settings.clock, &*settings.entropy),
            cors: CorsHeaders::of(&method, headers, &settings.allowed_origins),
            method,
            context: None,
        }
    }

    /// Renders an error as a page or an envelope.
    fn failed(&self, error: &ApiError, request: Option<&HttpRequest>) -> HttpResponse<BoxBody> {
        let problem = error.problem();
        let id = self.start.id.as_str();
        let mut response = match &self.shell.error_pages {
            Some(pages) => pages.page(error, &problem, id, request),
            None => HttpResponse::build(problem.status)
                .insert_header((header::CONTENT_TYPE, envelope::MEDIA_TYPE))
                .body(envelope::failure(error, &problem, id)),
        };
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, NO_STORE);
        if let Some(wait) = problem.retry_after {
            headers.insert(header::RETRY_AFTER, whole_seconds(wait).into());
        }
        if let ApiError::MethodNotAllowed(allow) = error
            && let Ok(allow) = HeaderValue::from_str(allow)
        {
            headers.insert(header::ALLOW, allow);
        }
        if let ApiError::KeyMissing | ApiError::KeyInvalid = error {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }

    /// Returns a response from memory, if there is one. A panic counts as `None`: the handler meets it again and
    /// reports it.
    pub(super) fn ready(
        &self,
        answers: &dyn ReadyResponses,
        request: &HttpRequest,
    ) -> Option<(&'static str, HttpResponse)> {
        let reads = matches!(self.method, Method::GET | Method::HEAD);
        let ready = || answers.ready(request, &self.start);
        if reads { catch_unwind(AssertUnwindSafe(ready)).ok().flatten() } else { None }
    }

    /// Finishes a response of the application.
    pub(super) fn routed(&self, answer: ServiceResponse<BoxBody>) -> ServiceResponse<BoxBody> {
        let (request, response) = answer.into_parts();
        let response = self.rendered(&request, response);
        let path = request.app_data::<Routed>().map(|routed| routed.0);
        self.complete(request, path, response)
    }

    /// Adds the common headers, and records metrics and log lines under this path.
    pub(super) fn complete(
        &self,
        request: HttpRequest,
        path: Option<&'static str>,
        response: HttpResponse<BoxBody>,
    ) -> ServiceResponse<BoxBody> {
        let Shell { settings, metrics, slow, .. } = &*self.shell;
        let response = self.finish(response, settings.tls);
        let taken = self.start.elapsed_at(settings.clock.monotonic());
        metrics.answered(path, response.status(), taken);
        slow::note(slow, path, &self.start.id, taken, self.context.as_deref());
        if settings.access_log {
            self.log_access(settings.listener, &request, &response, taken);
        }
        ServiceResponse::new(request, response)
    }

    /// Converts a failure without a response into an internal error, and logs it.
    pub(super) fn failed_with(&self, cause: String) -> Error {
        let error = ApiError::Internal(cause.into());
        error.log(self.start.id.as_str(), &self.shell.failures);
        self.unanswered(error)
    }

    /// Converts a panic into an internal error.
    pub(super) fn panicked(&self, panic: &(dyn Any + Send)) -> Error {
        let message = panic.downcast_ref::<&str>().copied();
        let message = message.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        self.failed_with(format!("panic: {}", message.unwrap_or("no message")))
    }

    /// Returns the complete response to a request that the application has consumed without one, as after a panic.
    pub(super) fn unanswered(&self, error: ApiError) -> Error {
        let Shell { settings, metrics, .. } = &*self.shell;
        let response = self.finish(self.failed(&error, None), settings.tls);
        metrics.answered(None, response.status(), self.start.elapsed_at(settings.clock.monotonic()));
        InternalError::from_response(error, response).into()
    }

    /// Replaces a response that carries an error by the rendered error.
    fn rendered(&self, request: &HttpRequest, response: HttpResponse<BoxBody>) -> HttpResponse<BoxBody> {
        let Some(error) = response.error() else {
            return response;
        };
        let failed = |error: &ApiError| {
            error.log(self.start.id.as_str(), &self.shell.failures);
            self.failed(error, Some(request))
        };
        match error.as_error::<ApiError>() {
            Some(error) => failed(error),
            None => failed(&ApiError::Internal(error.to_string().into())),
        }
    }

    fn log_access(
        &self,
        listener: &'static str,
        request: &HttpRequest,
        response: &HttpResponse<BoxBody>,
        taken: Duration,
    ) {
        tracing::info!(
            target: "companion::access",
            listener,
            client = Client::behind_request(request).map(display),
            request_id = self.start.id.as_str(),
            method = request.method().as_str(),
            path = request.path(),
            code = response.status().as_u16(),
            microseconds = slow::microseconds(taken),
            "answered"
        );
    }

    /// Adds the headers that every response has.
    fn finish(&self, mut response: HttpResponse<BoxBody>, tls: bool) -> HttpResponse<BoxBody> {
        let headers = response.headers_mut();
        // Nothing else sets these, and appending takes half the time of inserting.
        headers.append(X_REQUEST_ID, self.start.id.to_header());
        headers.append(header::X_CONTENT_TYPE_OPTIONS, NOSNIFF);
        if tls {
            headers.append(header::STRICT_TRANSPORT_SECURITY, STRICT_TRANSPORT);
        }
        self.cors.write(headers);
        if self.method == Method::HEAD { without_body(response) } else { response }
    }
}

/// Rounds up, so that a client that waits this long is not rejected again.
fn whole_seconds(wait: Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
}

/// Removes the body but keeps its length.
fn without_body(response: HttpResponse<BoxBody>) -> HttpResponse<BoxBody> {
    response.map_body(|_, body| match body.size() {
        BodySize::Sized(length) => {
            BoxBody::new(SizedStream::new(length, stream::empty::<Result<Bytes, Infallible>>()))
        }
        BodySize::None | BodySize::Stream => BoxBody::new(()),
    })
}
