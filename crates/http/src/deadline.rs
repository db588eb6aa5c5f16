//! How long a request may take, and what happens to its work when it takes longer or its client is gone.

use crate::error::ApiError;
use actix_web::rt;
use std::{future::Future, time::Duration};
use tokio::time::timeout;

/// A whole sign-in.
pub(crate) const SIGN_IN: Duration = Duration::from_secs(7);
/// A list of guilds, with all that may have to be asked of the platform for it.
pub(crate) const LISTING: Duration = Duration::from_secs(7);
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
    match timeout(limit, rt::spawn(work)).await {
        Ok(Ok(done)) => Ok(done?),
        Ok(Err(panicked)) => Err(ApiError::Internal(panicked.into())),
        Err(late) => Err(ApiError::ProviderTimeout(late.into())),
    }
}
