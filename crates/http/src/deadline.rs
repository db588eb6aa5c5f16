//! How long a request may take, and what happens to its work when it takes longer or its client is gone.

use crate::error::ApiError;
use actix_web::rt;
use companion_domain::port::Cause;
use std::{future::Future, time::Duration};
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
    match timeout(STORAGE, work).await {
        Ok(done) => Ok(done?),
        Err(late) => Err(ApiError::StorageUnavailable(late.into())),
    }
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
