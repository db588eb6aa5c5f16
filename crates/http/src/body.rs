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
    future::{Ready, ready},
    time::Duration,
};
use tokio::time::timeout;

/// Returns the announced length of the body, if any.
pub fn announced(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok())
}

/// Timeout for a body. Endpoints that stream their input have a rule of their own.
const BODY_TIMEOUT: Duration = Duration::from_secs(7);

/// Reads a body piece by piece. Returns [`ApiError::BodyTooLarge`] if it is, or is announced as, larger than `limit`, and
/// [`ApiError::BodyTimeout`] if it takes too long.
async fn read(
    payload: &mut Payload,
    announced: Option<u64>,
    limit: usize,
    mut take: impl FnMut(&[u8]),
) -> Result<(), ApiError> {
    if announced.is_some_and(|length| length > limit as u64) {
        return Err(ApiError::BodyTooLarge);
    }
    let reading = async {
        let mut length = 0;
        while let Some(piece) = payload.next().await {
            let piece = piece.map_err(|_| ApiError::BodyBroken)?;
            length += piece.len();
            if length > limit {
                return Err(ApiError::BodyTooLarge);
            }
            take(&piece);
        }
        Ok(())
    };
    timeout(BODY_TIMEOUT, reading).await.unwrap_or(Err(ApiError::BodyTimeout))
}

/// Reads a whole body. Returns [`ApiError::BodyTooLarge`] if it is, or is announced as, larger than `limit`.
pub async fn read_bytes(
    headers: &HeaderMap,
    mut payload: Payload,
    limit: usize,
) -> Result<Vec<u8>, ApiError> {
    let announced = announced(headers);
    let expected = announced.and_then(|length| usize::try_from(length).ok()).unwrap_or_default();
    let mut body = Vec::with_capacity(expected.min(limit));
    read(&mut payload, announced, limit, |piece| body.extend_from_slice(piece)).await?;
    Ok(body)
}

/// Reads a whole body of JSON, whatever its `Content-Type`. The inner error says why it is not JSON.
pub async fn read_json(
    headers: &HeaderMap,
    payload: Payload,
    limit: usize,
) -> Result<Result<Value, serde_json::Error>, ApiError> {
    let body = read_bytes(headers, payload, limit).await?;
    // `from_slice` would validate each string by itself. It is left the error of a body that is not UTF-8.
    Ok(str::from_utf8(&body).map_or_else(|_| serde_json::from_slice(&body), serde_json::from_str))
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
        if let Payload::None = self.payload {
            return Ok(());
        }
        read(&mut self.payload, self.announced, limit, |_| {}).await
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
