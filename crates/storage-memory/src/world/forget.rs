//! Forgetting a user.

use crate::{journal::Journal, keyed::Table, state::State};
use companion_domain::{change::Tally, model::UserId};

/// Removes what is kept of a user, but for a block and a place in the team.
pub(crate) fn forget(state: &mut State, user: UserId, journal: &mut Journal) -> Tally {
    let sessions = state.sessions.end_all(user, journal).len();
    let mut tally = Tally { removed: sessions as u64, ..Tally::NOTHING };
    tally += state.grants.remove(&user, journal);
    let guilds: Vec<_> = state.guilds.of_member(user).collect();
    for guild in guilds {
        tally += state.guilds.remove_member(guild, user, journal).unwrap_or_default();
    }
    tally += state.staff.remove(&user, journal);
    tally += state.subscriptions.remove(&user, journal);
    let feedback: Vec<_> = state.feedback.of_submitter(user).cloned().collect();
    for id in &feedback {
        tally += state.feedback.remove(id, journal);
    }
    tally
}
