//! One request and its answer, as the edge sees them.

use super::{EdgeSettings, ErrorPages, ReadyAnswer, ReadyAnswers, cors::CorsHeaders, slow};
use crate::{envelope, error::ApiError, headers::X_REQUEST_ID, request_id::Receipt, routing::Routed};
use actix_web::{
    HttpRequest, HttpResponse, ResponseError,
    body::{BodySize, BoxBody, MessageBody},
    dev::{ServiceRequest, ServiceResponse},
    http::{
        Method, StatusCode,
        header::{self, HeaderValue},
    },
    web::Bytes,
};
use companion_domain::request::RequestContext;
use std::{
    any::Any,
    convert::Infallible,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

/// Nobody keeps an error.
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
/// Browsers take an answer for what it says it is, whatever its content looks like.
const NOSNIFF: HeaderValue = HeaderValue::from_static("nosniff");
/// One year, which is what ASVS asks for. Names below this one are not ours to decide about, and a preload list is hard to leave.
const STRICT_TRANSPORT: HeaderValue = HeaderValue::from_static("max-age=31536000");

/// What has to be known of a request to finish its answer.
#[derive(Clone)]
pub(super) struct Exchange {
    pub(super) receipt: Receipt,
    cors: CorsHeaders,
    method: Method,
    tls: bool,
    error_pages: Option<Arc<dyn ErrorPages>>,
    /// Known to whoever works for the request; nothing where its answer was ready.
    context: Option<Arc<RequestContext>>,
}

impl Exchange {
    /// Takes note of a request that just came in.
    pub(super) fn begin(
        request: &ServiceRequest,
        settings: &EdgeSettings,
        error_pages: Option<&Arc<dyn ErrorPages>>,
    ) -> Self {
        let (headers, method) = (request.headers(), request.method().clone());
        Self {
            receipt: Receipt::new(headers, &*settings.clock, &*settings.entropy),
            cors: CorsHeaders::of(&method, headers, &settings.allowed_origins),
            method,
            tls: settings.tls,
            error_pages: error_pages.cloned(),
            context: None,
        }
    }

    /// The same for a request that somebody has to work for.
    pub(super) fn worked_for(self) -> Self {
        Self { context: Some(RequestContext::new(self.receipt.id.as_str())), ..self }
    }

    /// Does a part of the work for the request.
    pub(super) fn within<T>(&self, work: impl FnOnce() -> T) -> T {
        match &self.context {
            Some(context) => context.within(work),
            None => work(),
        }
    }

    /// Renders an error as the answer that the caller gets.
    fn failed(&self, error: &ApiError) -> HttpResponse<BoxBody> {
        let problem = error.problem();
        let id = self.receipt.id.as_str();
        let mut response = match &self.error_pages {
            Some(pages) => pages.page(error, &problem, id),
            None => HttpResponse::build(problem.status)
                .insert_header((header::CONTENT_TYPE, envelope::MEDIA_TYPE))
                .body(envelope::failure(error, &problem, id)),
        };
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, NO_STORE);
        if let Some(wait) = problem.retry_after {
            headers.insert(header::RETRY_AFTER, whole_seconds(wait).into());
        }
        if let ApiError::MethodNotAllowed(allow) = error {
            headers.insert(header::ALLOW, HeaderValue::from_static(allow));
        }
        if let ApiError::KeyMissing | ApiError::KeyInvalid = error {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }

    /// The answer that is ready for this request, if there is one. A panic on the way is none: the application meets it again,
    /// and answers for it.
    pub(super) fn ready(&self, answers: &dyn ReadyAnswers, request: &HttpRequest) -> Option<ReadyAnswer> {
        let reads = matches!(self.method, Method::GET | Method::HEAD);
        let ready = || answers.ready(request, &self.receipt);
        if reads { catch_unwind(AssertUnwindSafe(ready)).ok().flatten() } else { None }
    }

    /// Finishes an answer of the application.
    pub(super) fn routed(
        &self,
        answer: ServiceResponse<BoxBody>,
        settings: &EdgeSettings,
    ) -> ServiceResponse<BoxBody> {
        let (request, response) = answer.into_parts();
        let response = self.rendered(response, settings);
        let path = request.app_data::<Routed>().map(|routed| routed.0);
        self.concluded(request, path, response, settings)
    }

    /// Gives an answer of this path what every answer has, and takes note of it.
    pub(super) fn concluded(
        &self,
        request: HttpRequest,
        path: Option<&'static str>,
        response: HttpResponse<BoxBody>,
        settings: &EdgeSettings,
    ) -> ServiceResponse<BoxBody> {
        let response = self.finish(response);
        let taken = self.receipt.taken(&*settings.clock);
        settings.metrics.answered(path, response.status(), taken);
        slow::note(&settings.slow, path, &self.receipt.id, taken, self.context.as_deref());
        if settings.access_log {
            self.log_access(&request, &response, taken);
        }
        ServiceResponse::new(request, response)
    }

    /// The request failed without an answer.
    pub(super) fn lost(self, cause: String, settings: &EdgeSettings) -> Lost {
        let error = ApiError::Internal(cause.into());
        error.log(self.receipt.id.as_str(), &settings.failures);
        settings.metrics.answered(None, error.problem().status, self.receipt.taken(&*settings.clock));
        Lost { exchange: self, error }
    }

    /// There was no time left to wait for what the answer waits for.
    pub(super) fn overdue(self, settings: &EdgeSettings) -> Lost {
        let error = ApiError::Overloaded(Duration::from_secs(1));
        settings.metrics.answered(None, error.problem().status, self.receipt.taken(&*settings.clock));
        Lost { exchange: self, error }
    }

    /// The request failed by a panic.
    pub(super) fn panicked(self, panic: &(dyn Any + Send), settings: &EdgeSettings) -> Lost {
        let message = panic.downcast_ref::<&str>().copied();
        let message = message.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        self.lost(format!("panic: {}", message.unwrap_or("no message")), settings)
    }

    /// An answer that is an error in disguise becomes what the caller gets to see of it.
    fn rendered(&self, response: HttpResponse<BoxBody>, settings: &EdgeSettings) -> HttpResponse<BoxBody> {
        let Some(error) = response.error() else {
            return response;
        };
        let failed = |error: &ApiError| {
            error.log(self.receipt.id.as_str(), &settings.failures);
            self.failed(error)
        };
        match error.as_error::<ApiError>() {
            Some(error) => failed(error),
            None => failed(&ApiError::Internal(error.to_string().into())),
        }
    }

    fn log_access(&self, request: &HttpRequest, response: &HttpResponse<BoxBody>, taken: Duration) {
        tracing::info!(
            target: "companion::access",
            request_id = self.receipt.id.as_str(),
            method = request.method().as_str(),
            path = request.path(),
            code = response.status().as_u16(),
            milliseconds = taken.as_secs_f64() * 1000.0,
            "answered"
        );
    }

    /// Adds what every answer has.
    fn finish(&self, mut response: HttpResponse<BoxBody>) -> HttpResponse<BoxBody> {
        let headers = response.headers_mut();
        headers.insert(X_REQUEST_ID, self.receipt.id.to_header());
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, NOSNIFF);
        if self.tls {
            headers.insert(header::STRICT_TRANSPORT_SECURITY, STRICT_TRANSPORT);
        }
        self.cors.write(headers);
        if self.method == Method::HEAD { without_body(response) } else { response }
    }
}

/// An answer for a request that was lost on the way, as in a panic: actix makes it out of this error.
pub(super) struct Lost {
    pub(super) exchange: Exchange,
    pub(super) error: ApiError,
}

impl ResponseError for Lost {
    fn status_code(&self) -> StatusCode {
        self.error.status_code()
    }

    fn error_response(&self) -> HttpResponse<BoxBody> {
        self.exchange.finish(self.exchange.failed(&self.error))
    }
}

impl fmt::Debug for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.error, f)
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.error, f)
    }
}

/// Rounded up: whoever waits that long has waited long enough.
fn whole_seconds(wait: std::time::Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
}

/// Says how long the body would be, and gives none.
struct LengthOnly(u64);

impl MessageBody for LengthOnly {
    type Error = Infallible;

    fn size(&self) -> BodySize {
        BodySize::Sized(self.0)
    }

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, Infallible>>> {
        Poll::Ready(None)
    }
}

/// Takes the body off, but leaves its length.
pub(super) fn without_body(response: HttpResponse<BoxBody>) -> HttpResponse<BoxBody> {
    response.map_body(|_, body| match body.size() {
        BodySize::Sized(length) => BoxBody::new(LengthOnly(length)),
        BodySize::None | BodySize::Stream => BoxBody::new(()),
    })
}
