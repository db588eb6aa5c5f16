//! Telling what there is of a user.

use crate::state::State;
use companion_domain::{
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
