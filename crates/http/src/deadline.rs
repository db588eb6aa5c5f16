//! How long a request may take, and what happens to its work when it takes longer or its client is gone.

use crate::error::ApiError;
use actix_web::rt;
use companion_domain::port::Cause;
use futures_util::future::poll_immediate;
use std::{future::Future, pin::pin, time::Duration};
use tokio::time::timeout;

/// A whole sign-in.
const SIGN_IN: Duration = Duration::from_secs(7);
/// A change that may have to wait for a large one before it.
const CHANGE: Duration = Duration::from_secs(30);
/// What asks our own store, and waits a moment for the platform at most.
const STORAGE: Duration = Duration::from_secs(5);

/// Waits for work that asks our own store, and little else.
pub async fn within_storage<T, E>(work: impl Future<Output = Result<T, E>>) -> Result<T, ApiError>
where
    ApiError: From<E>,
{
    within(STORAGE, work).await
}

/// The same, for as long as this. What memory answers is there at once, so a timer is set only for what is not.
pub(crate) async fn within<T, E>(
    limit: Duration,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, ApiError>
where
    ApiError: From<E>,
{
    let mut work = pin!(work);
    let done = match poll_immediate(work.as_mut()).await {
        Some(done) => done,
        None => timeout(limit, work).await.map_err(|late| ApiError::StorageUnavailable(late.into()))?,
    };
    Ok(done?)
}

/// Waits for a sign-in, which is not undone halfway: it goes on to its end when the client hangs up or the time is over,
/// as a code is spent by the attempt. So much of the time was `spent` before.
pub(crate) async fn sign_in<T, E>(
    spent: Duration,
    work: impl Future<Output = Result<T, E>> + 'static,
) -> Result<T, ApiError>
where
    T: 'static,
    E: 'static,
    ApiError: From<E>,
{
    to_its_end(SIGN_IN.saturating_sub(spent), work, ApiError::ProviderTimeout).await
}

/// Waits for a change of what is stored. It too goes on to its end, so that the audit trail has it and the public answers
/// show it, whoever still waits.
pub async fn change<T, E>(work: impl Future<Output = Result<T, E>> + 'static) -> Result<T, ApiError>
where
    T: 'static,
    E: 'static,
    ApiError: From<E>,
{
    to_its_end(CHANGE, work, ApiError::StorageUnavailable).await
}

async fn to_its_end<T, E>(
    limit: Duration,
    work: impl Future<Output = Result<T, E>> + 'static,
    late: fn(Cause) -> ApiError,
) -> Result<T, ApiError>
where
    T: 'static,
    E: 'static,
    ApiError: From<E>,
{
    match timeout(limit, rt::spawn(work)).await {
        Ok(Ok(done)) => Ok(done?),
        Ok(Err(panicked)) => Err(ApiError::Internal(panicked.into())),
        Err(elapsed) => Err(late(elapsed.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use companion_domain::port::StoreError;
    use futures_util::FutureExt as _;

    /// Setting a timer would panic here, where there is no runtime.
    #[test]
    fn what_is_there_at_once_needs_no_timer() {
        let done = within_storage(async { Ok::<_, StoreError>(7) }).now_or_never();
        assert_eq!(done.and_then(Result::ok), Some(7));
    }

    #[tokio::test(start_paused = true)]
    async fn what_takes_longer_than_it_may_is_not_waited_for() {
        let late = within_storage(std::future::pending::<Result<(), StoreError>>()).await;
        assert_eq!(late.err().map(|error| error.problem().word), Some("storage_unavailable"));
    }
}
