//! Giving everything out.

use crate::state::State;
use companion_domain::{
    model::{Feedback, Guild, Member, RoleSet, StaffGrants, Subscription, TeamMember, UserId},
    port::{Grant, Record},
    session::Session,
};
use std::sync::Arc;

/// How many records are handed over at once.
const BATCH: usize = 500;

/// The members of one guild.
type Members = Vec<(UserId, Arc<RoleSet>)>;

/// Everything as of one moment. It shares what the state holds, so that taking it is quick; the records themselves
/// are copied batch by batch, while nobody waits.
pub(crate) struct Snapshot {
    guilds: Vec<(Arc<Guild>, Members)>,
    subscriptions: Vec<Arc<Subscription>>,
    staff: Vec<(UserId, StaffGrants)>,
    blocked: Vec<UserId>,
    feedback: Vec<Arc<Feedback>>,
    team: Arc<[TeamMember]>,
    sessions: Vec<Session>,
    grants: Vec<(UserId, Grant)>,
}

impl Snapshot {
    pub(crate) fn of(state: &State) -> Self {
        let guilds = state.guilds.all().map(|known| {
            let members = known.members.iter().map(|(user, roles)| (*user, Arc::clone(roles)));
            (Arc::clone(&known.guild), members.collect())
        });
        Self {
            guilds: guilds.collect(),
            subscriptions: state.subscriptions.all().cloned().collect(),
            staff: state.staff.iter().map(|(user, grants)| (*user, *grants)).collect(),
            blocked: state.blocked.iter().map(|(user, ())| *user).collect(),
            feedback: state.feedback.all().cloned().collect(),
            team: state.team.all(),
            sessions: state.sessions.all().cloned().collect(),
            grants: state.grants.all().map(|(user, grant)| (user, grant.clone())).collect(),
        }
    }

    /// All records in a fixed order, a guild right before its members.
    pub(crate) fn into_batches(mut self) -> impl Iterator<Item = Vec<Record>> + Send {
        self.sort();
        let mut records = self.into_records();
        std::iter::from_fn(move || {
            let batch: Vec<_> = records.by_ref().take(BATCH).collect();
            (!batch.is_empty()).then_some(batch)
        })
    }

    fn sort(&mut self) {
        self.guilds.sort_by_key(|(guild, _)| guild.id);
        for (_, members) in &mut self.guilds {
            members.sort_by_key(|(user, _)| *user);
        }
        self.subscriptions.sort_by_key(|subscription| subscription.user);
        self.staff.sort_by_key(|(user, _)| *user);
        self.blocked.sort_unstable();
        self.feedback.sort_by(|one, other| one.id.cmp(&other.id));
        self.sessions.sort_by_key(|session| session.id);
        self.grants.sort_by_key(|(user, _)| *user);
    }

    fn into_records(self) -> impl Iterator<Item = Record> + Send {
        let guilds = self.guilds.into_iter().flat_map(|(guild, members)| {
            let id = guild.id;
            let member = move |(user, roles): (UserId, Arc<RoleSet>)| {
                Record::Member(Member { guild: id, user, roles: (*roles).clone() })
            };
            std::iter::once(Record::Guild((*guild).clone())).chain(members.into_iter().map(member))
        });
        let team = (0..self.team.len()).filter_map(move |index| self.team.get(index).cloned());
        guilds
            .chain(
                self.subscriptions
                    .into_iter()
                    .map(|subscription| Record::Subscription((*subscription).clone())),
            )
            .chain(self.staff.into_iter().map(|(user, grants)| Record::Staff(user, grants)))
            .chain(self.blocked.into_iter().map(Record::Blocked))
            .chain(self.feedback.into_iter().map(|feedback| Record::Feedback((*feedback).clone())))
            .chain(team.map(Record::Team))
            .chain(self.sessions.into_iter().map(Record::Session))
            .chain(self.grants.into_iter().map(|(user, grant)| Record::Grant(user, grant)))
    }
}
