//! Deadlines of requests, and what happens to their work on a timeout or a disconnect.
//!
//! Work is boxed before the first async block. An `async fn` stores its argument beside what it awaits, so each one around
//! the work would double its size.

use crate::{client::Client, concurrency::ConcurrencyLimiter, error::ApiError};
use actix_web::{HttpRequest, rt};
use companion_domain::{port::Cause, request::carried};
use futures_util::future::{LocalBoxFuture, poll_immediate};
use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::timeout;

/// Deadline of a whole sign-in.
const SIGN_IN_DEADLINE: Duration = Duration::from_secs(7);
/// Deadline of a change, which may have to wait for a large one before it.
const CHANGE_DEADLINE: Duration = Duration::from_secs(30);
/// Deadline of a read of the store, which may wait briefly for the platform.
const STORAGE_DEADLINE: Duration = Duration::from_secs(5);

/// Awaits a read of the store for at most five seconds. Returns [`ApiError::StorageUnavailable`] on a timeout and
/// [`ApiError::Overloaded`] if too many requests wait.
pub fn within_storage<T, E: Into<ApiError>>(
    limiter: &ConcurrencyLimiter,
    request: &HttpRequest,
    work: impl Future<Output = Result<T, E>>,
) -> impl Future<Output = Result<T, ApiError>> {
    within(STORAGE_DEADLINE, limiter, request, work)
}

/// Awaits `work` for at most `limit`. Work that completes on the first poll, as with cached values, needs no timer and
/// no permit.
pub(crate) fn within<T, E: Into<ApiError>>(
    limit: Duration,
    limiter: &ConcurrencyLimiter,
    request: &HttpRequest,
    work: impl Future<Output = Result<T, E>>,
) -> impl Future<Output = Result<T, ApiError>> {
    let mut work = Box::pin(work);
    async move {
        if let Some(done) = poll_immediate(work.as_mut()).await {
            return done.map_err(Into::into);
        }
        let _permit = limiter.acquire(Client::behind_request(request))?;
        let done = timeout(limit, work).await.map_err(|late| ApiError::StorageUnavailable(late.into()))?;
        done.map_err(Into::into)
    }
}

/// Awaits a sign-in. On a timeout or disconnect it still runs to completion, because the attempt uses up the code.
/// `spent` is the time already taken from its deadline.
pub(crate) fn sign_in<T: 'static>(
    spent: Duration,
    work: impl Future<Output = Result<T, ApiError>> + 'static,
) -> impl Future<Output = Result<T, ApiError>> {
    let work = Box::pin(carried(work));
    run_to_completion(SIGN_IN_DEADLINE.saturating_sub(spent), work, ApiError::ProviderTimeout)
}

/// Awaits a change of stored data. It runs to completion even on a timeout or disconnect, so that the audit trail and the
/// public responses include it.
pub fn change<T: 'static, E: Into<ApiError> + 'static>(
    limiter: &ConcurrencyLimiter,
    request: &HttpRequest,
    work: impl Future<Output = Result<T, E>> + 'static,
) -> impl Future<Output = Result<T, ApiError>> {
    let work = Box::pin(carried(work));
    async move {
        let _permit = limiter.acquire(Client::behind_request(request))?;
        run_to_completion(CHANGE_DEADLINE, work, ApiError::StorageUnavailable).await
    }
}

async fn run_to_completion<T: 'static, E: Into<ApiError> + 'static>(
    limit: Duration,
    work: LocalBoxFuture<'static, Result<T, E>>,
    late: fn(Cause) -> ApiError,
) -> Result<T, ApiError> {
    let work = SpawnOnDrop(Some(work));
    timeout(limit, work).await.map_err(|elapsed| late(elapsed.into()))?.map_err(Into::into)
}

/// A future that moves to a task of its own if it is dropped before it completes. Until then its request polls it, because
/// a task for every change would cost more.
struct SpawnOnDrop<T: 'static>(Option<LocalBoxFuture<'static, T>>);

impl<T> Future for SpawnOnDrop<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        // Taken out, so that a future that panics is not spawned.
        let Some(mut work) = self.0.take() else { return Poll::Pending };
        let polled = work.as_mut().poll(context);
        if polled.is_pending() {
            self.0 = Some(work);
        }
        polled
    }
}

impl<T> Drop for SpawnOnDrop<T> {
    fn drop(&mut self) {
        if let Some(work) = self.0.take() {
            rt::spawn(work);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::TrustedProxies;
    use actix_web::test::TestRequest;
    use companion_domain::port::StoreError;
    use futures_util::FutureExt as _;
    use std::{iter, net::Ipv4Addr};

    fn pending() -> impl Future<Output = Result<(), StoreError>> {
        std::future::pending()
    }

    fn request() -> HttpRequest {
        TestRequest::default().to_http_request()
    }

    fn word<T>(refused: Result<T, ApiError>) -> Option<&'static str> {
        refused.err().map(|error| error.problem().word)
    }

    #[test]
    fn waiting_requests_are_small() {
        async fn large() -> Result<u8, StoreError> {
            let buffer = std::hint::black_box([0; 4096]);
            std::future::pending::<()>().await;
            Ok(buffer[0])
        }
        let (limiter, request) = (ConcurrencyLimiter::default(), request());
        for size in [
            size_of_val(&within_storage(&limiter, &request, large())),
            size_of_val(&change(&limiter, &request, large())),
        ] {
            assert!(size < size_of_val(&large()) / 4, "{size}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn rejects_work_beyond_the_limit_at_once_and_times_out_the_rest() {
        let limiter = ConcurrencyLimiter::default();
        let request = request();
        let crowd: Vec<_> = iter::from_fn(|| limiter.acquire(None).ok()).collect();
        let done = within_storage(&limiter, &request, async { Ok::<_, StoreError>(7) }).await;
        assert_eq!(done.ok(), Some(7), "work that need not wait is not limited");
        assert_eq!(
            word(within_storage(&limiter, &request, pending()).now_or_never().unwrap()),
            Some("overloaded")
        );
        assert_eq!(word(change(&limiter, &request, pending()).now_or_never().unwrap()), Some("overloaded"));
        drop(crowd);
        let begun = tokio::time::Instant::now();
        assert_eq!(word(within_storage(&limiter, &request, pending()).await), Some("storage_unavailable"));
        assert_eq!(begun.elapsed().as_secs(), 5);
    }

    #[tokio::test(start_paused = true)]
    async fn limits_each_client_behind_a_proxy_by_itself() {
        let request_of = |client: &'static str| {
            TestRequest::default()
                .app_data(TrustedProxies::new(|address| address.is_loopback()))
                .peer_addr((Ipv4Addr::LOCALHOST, 5000).into())
                .insert_header(("X-Forwarded-For", client))
                .to_http_request()
        };
        let (limiter, flooding, other) =
            (ConcurrencyLimiter::default(), request_of("203.0.113.9"), request_of("203.0.113.10"));
        let flood: Vec<_> = iter::from_fn(|| {
            let mut waiting = Box::pin(within_storage(&limiter, &flooding, pending()));
            (&mut waiting).now_or_never().is_none().then_some(waiting)
        })
        .collect();
        assert!(flood.len() > 1000);
        assert_eq!(word(within_storage(&limiter, &flooding, pending()).await), Some("overloaded"));
        assert_eq!(word(within_storage(&limiter, &other, pending()).await), Some("storage_unavailable"));
    }
}
