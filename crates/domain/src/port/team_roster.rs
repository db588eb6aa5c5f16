//! The team.

use super::StoreError;
use crate::model::TeamMember;
use async_trait::async_trait;
use std::sync::Arc;

/// Knows the team that maintains the bot.
#[async_trait]
pub trait TeamRoster: Send + Sync {
    /// The whole team, in any order: the order shown is a rule of the domain.
    async fn all(&self) -> Result<Arc<[TeamMember]>, StoreError>;
}
