//! What a sync has brought so far.

use crate::table::team::{TeamKey, key_of};
use companion_domain::{
    model::{Feedback, FeedbackId, Guild, GuildId, RoleSet, StaffGrants, Subscription, TeamMember, UserId},
    port::{Grant, Numbered, Record},
    session::{Session, TokenHash},
};
use std::{collections::BTreeMap, sync::Arc};

/// Records by kind and key, the last of each key.
#[derive(Default)]
pub(crate) struct Staged {
    pub(super) guilds: BTreeMap<GuildId, Arc<Guild>>,
    pub(super) members: BTreeMap<GuildId, StagedMembers>,
    pub(super) subscriptions: BTreeMap<UserId, Arc<Subscription>>,
    pub(super) staff: BTreeMap<UserId, StaffGrants>,
    pub(super) blocked: BTreeMap<UserId, ()>,
    pub(super) feedback: BTreeMap<FeedbackId, Arc<Feedback>>,
    pub(super) team: BTreeMap<TeamKey, TeamMember>,
    pub(super) sessions: BTreeMap<TokenHash, Session>,
    pub(super) grants: BTreeMap<UserId, Grant>,
}

/// The members of one guild.
pub(super) struct StagedMembers {
    /// Where the guild was first named.
    pub(super) line: u64,
    pub(super) roles: BTreeMap<UserId, Arc<RoleSet>>,
}

impl Staged {
    /// Takes a record in place of an earlier one with the same key.
    pub(crate) fn take(&mut self, Numbered { line, record }: Numbered) {
        match record {
            Record::Guild(guild) => {
                self.guilds.insert(guild.id, Arc::new(guild));
            }
            Record::Member(member) => {
                let new = || StagedMembers { line, roles: BTreeMap::new() };
                let members = self.members.entry(member.guild).or_insert_with(new);
                members.line = members.line.min(line);
                members.roles.insert(member.user, Arc::new(member.roles));
            }
            Record::Subscription(subscription) => {
                self.subscriptions.insert(subscription.user, Arc::new(subscription));
            }
            Record::Staff(user, grants) => {
                self.staff.insert(user, grants);
            }
            Record::Blocked(user) => {
                self.blocked.insert(user, ());
            }
            Record::Feedback(feedback) => {
                self.feedback.insert(feedback.id.clone(), Arc::new(feedback));
            }
            Record::Team(member) => {
                self.team.insert(key_of(&member), member);
            }
            Record::Session(session) => {
                self.sessions.insert(session.id, session);
            }
            Record::Grant(user, grant) => {
                self.grants.insert(user, grant);
            }
        }
    }
}
