//! What the public handlers work with.

use super::{
    refusals::Refusals,
    settings::{PublicSettings, PublicUseCases},
};
use crate::{
    gate::Gate,
    metrics::SignInMetrics,
    projection::{Projections, RenderedListings},
};
use companion_domain::port::Clock;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// The use cases, the public answers kept in memory, and how the API behaves.
pub(crate) struct PublicContext {
    pub(super) use_cases: PublicUseCases,
    pub(super) projections: Arc<Projections>,
    pub(super) settings: PublicSettings,
    pub(super) listings: RenderedListings,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) sign_ins: Arc<SignInMetrics>,
    pub(super) refusals: Arc<Refusals>,
    /// The way to storage.
    pub(super) storage: Gate,
    /// The way to newer lists of the platform.
    pub(super) newer_lists: Gate,
    /// One permit for each sign-in in flight.
    pub(super) sign_in_slots: Arc<Semaphore>,
}
