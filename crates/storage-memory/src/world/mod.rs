//! Everything at once: what a sync brings, an export, and forgetting a user.

mod apply;
mod export;
mod staging;

pub(crate) use self::{export::Snapshot, staging::Staged};
use crate::{journal::Journal, keyed::Table, state::State};
use companion_domain::{
    change::Tally,
    model::{Member, UserId},
    port::Record,
};

/// What forgetting a user would remove.
pub(crate) fn about(state: &State, user: UserId) -> Vec<Record> {
    let guilds: Vec<_> = state.guilds.of_member(user).collect();
    let members = state
        .guilds
        .seen_by(user, &guilds)
        .into_iter()
        .map(|seen| Record::Member(Member { guild: seen.guild.id, user, roles: (*seen.roles).clone() }));
    let feedback = state.feedback.of_submitter(user).filter_map(|id| state.feedback.find(id));
    let mut records: Vec<_> = state.sessions.of_user(user).cloned().map(Record::Session).collect();
    records.extend(state.grants.find(user).map(|grant| Record::Grant(user, grant)));
    records.extend(members);
    records.extend(state.staff.get(&user).map(|grants| Record::Staff(user, *grants)));
    records.extend(state.subscriptions.of_user(user).map(|kept| Record::Subscription((*kept).clone())));
    records.extend(feedback.map(|entry| Record::Feedback((*entry).clone())));
    records
}

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
