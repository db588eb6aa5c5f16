//! A request of the management API: its parts, parsed, what handlers do with the store, and responses.

use crate::api::ManagementContext;
use actix_web::{FromRequest, HttpRequest, HttpResponse, dev::Payload, web};
use companion_domain::{
    change::Tally,
    model::{FieldError, Invalid},
    port::Mutation,
};
use companion_http::{
    ApiError,
    audit::Audit,
    body::{UnusedBody, read_json},
    deadline, envelope, routing, shapes,
};
use companion_records::{FieldErrors, Record, read_body};
use futures_util::{FutureExt as _, future::LocalBoxFuture};
use serde::Serialize;
use serde_json::Value;
use std::{collections::BTreeMap, future::Future, str::FromStr, sync::Arc};

/// A JSON body, whatever its `Content-Type`, or the error of parsing it.
pub(crate) type Document = Result<Value, serde_json::Error>;

/// A request, its body, and the context of its handler. Without a [`Document`], the body is read up to the limit and
/// discarded.
pub(crate) struct Call<B = ()> {
    pub(crate) context: web::Data<ManagementContext>,
    pub(crate) request: HttpRequest,
    pub(crate) body: B,
}

/// How the body of a request is read.
pub(crate) trait ReadBody: Sized + 'static {
    async fn read(request: &HttpRequest, payload: Payload, limit: usize) -> Result<Self, ApiError>;
}

impl ReadBody for () {
    async fn read(request: &HttpRequest, mut payload: Payload, limit: usize) -> Result<(), ApiError> {
        UnusedBody::of(request, &mut payload).ignore(limit).await
    }
}

impl ReadBody for Document {
    async fn read(request: &HttpRequest, payload: Payload, limit: usize) -> Result<Self, ApiError> {
        read_json(request.headers(), payload, limit).await
    }
}

/// A stream that the handler reads itself.
impl ReadBody for Payload {
    async fn read(_: &HttpRequest, payload: Payload, _: usize) -> Result<Self, ApiError> {
        Ok(payload)
    }
}

/// Size in bytes of the largest document that a path accepts. Set for a path where it can exceed the configured limit:
/// input that the OpenAPI document allows must not be refused for its size.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MinBodyLimit(pub(crate) usize);

impl<B: ReadBody> FromRequest for Call<B> {
    type Error = ApiError;
    type Future = LocalBoxFuture<'static, Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let (request, payload) = (request.clone(), payload.take());
        async move {
            let context = request.app_data::<web::Data<ManagementContext>>().cloned();
            let context = context.ok_or_else(|| ApiError::Internal("a handler has no context".into()))?;
            let minimum = request.app_data::<MinBodyLimit>().map_or(0, |minimum| minimum.0);
            let body = B::read(&request, payload, context.body_limit.max(minimum)).await?;
            Ok(Self { context, request, body })
        }
        .boxed_local()
    }
}

impl Call<Document> {
    /// Parses the record in the body, with the key from the path.
    pub(crate) fn record<R: Record>(&self) -> Result<R::Value, ApiError> {
        let part = |name: &str| routing::parameter(&self.request, name);
        read_body::<R>(&part, &self.body).map_err(ApiError::InputInvalid)
    }
}

impl<B> Call<B> {
    /// Parses the key of a record from the path.
    pub(crate) fn key<R: Record>(&self) -> Result<R::Key, ApiError> {
        let mut errors = FieldErrors::default();
        let key = R::key(&|name| routing::parameter(&self.request, name), &mut errors);
        errors.unless_any(key).map_err(ApiError::InputInvalid)
    }

    /// Parses a path segment.
    pub(crate) fn segment<T: FromStr<Err = Invalid>>(&self, name: &'static str) -> Result<T, ApiError> {
        value(name, routing::parameter(&self.request, name))
    }

    /// Starts an audit event of the client of this request.
    pub(crate) fn audit(&self, action: &'static str) -> Audit {
        Audit::of(&self.request, action)
    }

    /// Awaits a read of the store.
    pub(crate) fn read<T, E: Into<ApiError>>(
        &self,
        work: impl Future<Output = Result<T, E>>,
    ) -> impl Future<Output = Result<T, ApiError>> {
        deadline::within_storage(&self.context.storage_limiter, &self.request, work)
    }

    /// Awaits a change of the store, which is not cancelled with the request.
    pub(crate) fn write<T: 'static, E: Into<ApiError> + 'static>(
        &self,
        work: impl Future<Output = Result<T, E>> + 'static,
    ) -> impl Future<Output = Result<T, ApiError>> {
        deadline::change(&self.context.storage_limiter, &self.request, work)
    }

    /// Runs and audits a change, and responds with its tally.
    pub(crate) fn change<E: Into<ApiError> + 'static>(
        &self,
        audit: Audit,
        work: impl Future<Output = Result<Tally, E>> + 'static,
    ) -> impl Future<Output = Result<HttpResponse, ApiError>> {
        let audited = work.map(move |done| {
            let done = done.map_err(Into::into);
            audit.concluded(done.as_ref());
            done
        });
        self.write(audited).map(|done| Changes::answer(done?))
    }

    /// Applies and audits what the bot sent.
    pub(crate) async fn feed(&self, audit: Audit, mutation: Mutation) -> Result<HttpResponse, ApiError> {
        let feed = Arc::clone(&self.context.use_cases.feed);
        self.change(audit, async move { feed.apply(vec![mutation]).await }).await
    }
}

/// Parses a value from the path or query.
pub(crate) fn value<T: FromStr<Err = Invalid>>(name: &str, text: &str) -> Result<T, ApiError> {
    text.parse().map_err(|invalid: Invalid| invalid_value(name, &format!("must be {}", invalid.expected)))
}

/// Parses a number of nothing but digits from the path, a header or the query.
pub(crate) fn number<T: FromStr>(name: &str, text: &str, expected: &str) -> Result<T, ApiError> {
    let digits = Some(text).filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    digits.and_then(|digits| digits.parse().ok()).ok_or_else(|| invalid_value(name, expected))
}

/// Returns the error for an invalid value in the path or query.
pub(crate) fn invalid_value(name: &str, message: &str) -> ApiError {
    ApiError::InputInvalid(vec![FieldError::new(name, message)])
}

/// Query parameters, each known and sent once: a typo in one could remove the wrong records.
pub(crate) struct Query(BTreeMap<&'static str, String>);

impl Query {
    /// Parses a query string. Returns an error for unknown or repeated parameters.
    pub(crate) fn read(query: &str, known: &[&'static str]) -> Result<Self, ApiError> {
        let mut parameters = BTreeMap::new();
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            let Some(name) = known.iter().find(|known| **known == name) else {
                let known = known.join(", ");
                return Err(invalid_value(&name, &format!("is not known here; known are {known}")));
            };
            if parameters.insert(*name, value.into_owned()).is_some() {
                return Err(invalid_value(name, "must be sent once"));
            }
        }
        Ok(Self(parameters))
    }

    /// Returns a parameter as sent.
    pub(crate) fn text(&self, name: &'static str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Parses a required parameter.
    pub(crate) fn required<T: FromStr<Err = Invalid>>(&self, name: &'static str) -> Result<T, ApiError> {
        let text = self.text(name).ok_or_else(|| invalid_value(name, "is missing"))?;
        value(name, text)
    }
}

/// Responses of this API are never cached.
const CACHE_CONTROL: &str = "no-store";

/// Returns a success response.
pub(crate) fn answer(message: &str, data: impl Serialize) -> Result<HttpResponse, ApiError> {
    envelope::answer(message, data, CACHE_CONTROL)
}

shapes! {
    /// Number of records that a change touched.
    pub(crate) struct Changes(tally: Tally) {
        /// Records added.
        #[schema(examples(1))]
        added: u64 = tally.added,
        /// Records changed.
        #[schema(examples(0))]
        changed: u64 = tally.changed,
        /// Records removed.
        #[schema(examples(0))]
        removed: u64 = tally.removed,
    }
}

impl Changes {
    /// Responds with the tally of a change.
    pub(crate) fn answer(tally: Tally) -> Result<HttpResponse, ApiError> {
        let message = if tally == Tally::NOTHING { "Nothing has changed." } else { "The change is visible." };
        answer(message, Self::from(tally))
    }
}
