//! What the public handlers work with.

use super::settings::{PublicSettings, PublicUseCases};
use crate::{
    gate::Gate,
    projection::{Projections, RenderedListings},
    sign_ins::SignInAttempts,
};
use companion_domain::port::Clock;
use std::sync::Arc;

/// The use cases, the public answers kept in memory, and how the API behaves.
pub(crate) struct PublicContext {
    pub(super) use_cases: PublicUseCases,
    pub(super) projections: Arc<Projections>,
    pub(super) settings: PublicSettings,
    pub(super) listings: RenderedListings,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) sign_ins: Arc<SignInAttempts>,
    /// The way to storage.
    pub(super) storage: Gate,
    /// The way to newer lists of the platform.
    pub(super) newer_lists: Gate,
}
