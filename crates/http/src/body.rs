//! Request bodies. Most operations define none, so a body is read up to the limit and discarded.

use crate::error::ApiError;
use actix_web::{
    FromRequest, HttpRequest,
    dev::Payload,
    http::header::{CONTENT_LENGTH, HeaderMap},
};
use futures_util::StreamExt as _;
use serde_json::Value;
use std::{
    convert::Infallible,
    future::{Future, Ready, ready},
    time::Duration,
};
use tokio::time::timeout;

/// Returns the announced length of the body, if any.
pub fn announced(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok())
}

/// Timeout for a body. Endpoints that stream their input have a rule of their own.
const BODY_TIMEOUT: Duration = Duration::from_secs(7);

/// Awaits a body. Returns [`ApiError::BodyTimeout`] if it takes too long.
pub async fn in_time<T>(reading: impl Future<Output = Result<T, ApiError>>) -> Result<T, ApiError> {
    timeout(BODY_TIMEOUT, reading).await.unwrap_or(Err(ApiError::BodyTimeout))
}

/// Reads a whole body of JSON, whatever its `Content-Type`. The inner error says why it is not JSON.
pub async fn read_json(
    headers: &HeaderMap,
    mut payload: Payload,
    limit: usize,
) -> Result<Result<Value, serde_json::Error>, ApiError> {
    let announced = announced(headers).map(|length| usize::try_from(length).unwrap_or(usize::MAX));
    if announced.is_some_and(|length| length > limit) {
        return Err(ApiError::BodyTooLarge);
    }
    in_time(async {
        let mut body = Vec::with_capacity(announced.unwrap_or_default());
        while let Some(chunk) = payload.next().await {
            body.extend_from_slice(&chunk.map_err(|_| ApiError::BodyBroken)?);
            if body.len() > limit {
                return Err(ApiError::BodyTooLarge);
            }
        }
        Ok(serde_json::from_slice(&body))
    })
    .await
}

/// The body of a request that needs none.
pub struct UnusedBody {
    announced: Option<u64>,
    payload: Payload,
}

impl UnusedBody {
    /// Takes the body of this request.
    pub fn of(request: &HttpRequest, payload: &mut Payload) -> Self {
        let payload = payload.take();
        let announced = if let Payload::None = payload { None } else { announced(request.headers()) };
        Self { announced, payload }
    }

    /// Reads and discards the body, so that the connection can be reused. Returns [`ApiError::BodyTooLarge`] if it is,
    /// or is announced as, larger than `limit`.
    pub async fn ignore(mut self, limit: usize) -> Result<(), ApiError> {
        let limit = limit as u64;
        if self.announced.is_some_and(|length| length > limit) {
            return Err(ApiError::BodyTooLarge);
        }
        if let Payload::None = self.payload {
            return Ok(());
        }
        in_time(async {
            let mut read = 0;
            while let Some(chunk) = self.payload.next().await {
                read += chunk.map_err(|_| ApiError::BodyBroken)?.len() as u64;
                if read > limit {
                    return Err(ApiError::BodyTooLarge);
                }
            }
            Ok(())
        })
        .await
    }
}

impl FromRequest for UnusedBody {
    type Error = Infallible;
    type Future = Ready<Result<Self, Infallible>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        ready(Ok(Self::of(request, payload)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix_http::BoxedPayloadStream;
    use futures_util::stream;
    use tokio::time::Instant;

    #[tokio::test(start_paused = true)]
    async fn times_out_a_body_that_never_arrives() {
        let never: BoxedPayloadStream = Box::pin(stream::pending());
        let payload = Payload::Stream { payload: never };
        let begun = Instant::now();
        let ignored = UnusedBody { announced: Some(5), payload }.ignore(10).await;
        assert!(matches!(ignored, Err(ApiError::BodyTimeout)));
        assert_eq!(begun.elapsed().as_secs(), BODY_TIMEOUT.as_secs());
    }
}
