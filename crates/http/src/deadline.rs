//! How long a request may take, and what happens to its work when it takes longer or its client is gone.

use crate::error::ApiError;
use actix_web::rt;
use companion_domain::port::Cause;
use std::{future::Future, time::Duration};
use tokio::time::timeout;

/// A whole sign-in.
pub(crate) const SIGN_IN: Duration = Duration::from_secs(7);
/// A list of guilds, with all that may have to be asked of the platform for it.
pub(crate) const LISTING: Duration = Duration::from_secs(7);
/// A change that may have to wait for a large one before it.
pub(crate) const CHANGE: Duration = Duration::from_secs(30);
/// What only asks our own store.
pub(crate) const STORAGE: Duration = Duration::from_secs(5);

/// Waits for work that only asks our own store.
pub(crate) async fn within_storage<T, E>(work: impl Future<Output = Result<T, E>>) -> Result<T, ApiError>
where
    ApiError: From<E>,
{
    match timeout(STORAGE, work).await {
        Ok(done) => Ok(done?),
        Err(late) => Err(ApiError::StorageUnavailable(late.into())),
    }
}

/// Waits for work that asks the platform, and that is not undone halfway: it goes on to its end when the client hangs
/// up or the time is over. A code is spent by the attempt, and a refreshed token is lost if nobody stores it.
pub(crate) async fn carried_through<T, E>(
    limit: Duration,
    work: impl Future<Output = Result<T, E>> + 'static,
) -> Result<T, ApiError>
where
    T: 'static,
    E: 'static,
    ApiError: From<E>,
{
    to_its_end(limit, work, ApiError::ProviderTimeout).await
}

/// Waits for a change of what is stored. It too goes on to its end, so that the audit trail has it and the public answers
/// show it, whoever still waits.
pub(crate) async fn change<T, E>(work: impl Future<Output = Result<T, E>> + 'static) -> Result<T, ApiError>
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
