//! Showing the team.

use crate::{
    model::{Name, TeamMember},
    port::{StoreError, TeamRoster},
    rules::order_team,
};
use std::sync::Arc;

/// Shows the team.
pub struct ShowTeam {
    /// Where the team is stored, in any order.
    pub roster: Arc<dyn TeamRoster>,
    /// The categories that come first, in order.
    pub categories: Vec<Name>,
}

impl ShowTeam {
    /// The whole team, in the order in which it is shown.
    pub async fn show(&self) -> Result<Vec<TeamMember>, StoreError> {
        let mut team = self.roster.all().await?.to_vec();
        order_team(&mut team, &self.categories);
        Ok(team)
    }
}
