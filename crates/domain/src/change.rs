//! What changed: the thread on which caches and projections hang.

use crate::{
    model::{ClusterId, FeedbackId, GuildId, UserId},
    session::TokenHash,
};

/// A point in the history of all changes. Later changes have higher revisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Revision(pub u64);

/// One change: after which revision something may be different from before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Its place in the history.
    pub revision: Revision,
    /// What it was about.
    pub subject: Subject,
}

/// What a change was about. It says where to look, never what is there now.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Subject {
    /// A guild came, changed or went.
    Guild(GuildId),
    /// A user's roles in a guild.
    Member(GuildId, UserId),
    /// A user's premium subscription.
    Subscription(UserId),
    /// What a user was granted by name.
    Staff(UserId),
    /// Whether a user is blocked.
    Blocked(UserId),
    /// An entry of feedback.
    Feedback(FeedbackId),
    /// The team.
    Team,
    /// A cluster of the bot.
    Cluster(ClusterId),
    /// A session was made, or has ended.
    Session(TokenHash),
    /// A user's grant.
    Grant(UserId),
    /// So much of one kind at once that naming each would help nobody.
    Many(Kind),
}

impl Subject {
    /// The kind of thing it was about.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Guild(_) => Kind::Guild,
            Self::Member(..) => Kind::Member,
            Self::Subscription(_) => Kind::Subscription,
            Self::Staff(_) => Kind::Staff,
            Self::Blocked(_) => Kind::Blocked,
            Self::Feedback(_) => Kind::Feedback,
            Self::Team => Kind::Team,
            Self::Cluster(_) => Kind::Cluster,
            Self::Session(_) => Kind::Session,
            Self::Grant(_) => Kind::Grant,
            Self::Many(kind) => *kind,
        }
    }
}

/// The kinds of things that change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Guilds.
    Guild,
    /// Members' roles.
    Member,
    /// Subscriptions.
    Subscription,
    /// Grants by name.
    Staff,
    /// Blocked users.
    Blocked,
    /// Feedback.
    Feedback,
    /// The team.
    Team,
    /// Clusters.
    Cluster,
    /// Sessions.
    Session,
    /// Platform grants.
    Grant,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Guild,
        Self::Member,
        Self::Subscription,
        Self::Staff,
        Self::Blocked,
        Self::Feedback,
        Self::Team,
        Self::Cluster,
        Self::Session,
        Self::Grant,
    ];
}

/// The answer to what has changed since a revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changes {
    /// All of them, in order. The reader now stands at the last one, or where it was.
    Listed(Vec<Change>),
    /// The history does not reach back that far: load everything again, and stand at this revision.
    Gap(Revision),
}

/// What one write did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Things that were not there before.
    pub added: u64,
    /// Things that are different now.
    pub changed: u64,
    /// Things that are gone. What goes along with something else, as members with their guild, is not counted.
    pub removed: u64,
}

impl Tally {
    /// Nothing was different.
    pub const NOTHING: Self = Self { added: 0, changed: 0, removed: 0 };
    /// One thing was added.
    pub const ADDED: Self = Self { added: 1, ..Self::NOTHING };
    /// One thing was changed.
    pub const CHANGED: Self = Self { changed: 1, ..Self::NOTHING };
    /// One thing was removed.
    pub const REMOVED: Self = Self { removed: 1, ..Self::NOTHING };
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.added += other.added;
        self.changed += other.changed;
        self.removed += other.removed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_subject_has_its_kind() {
        let (guild, user) = (GuildId::new(1).unwrap(), UserId::new(2).unwrap());
        let subjects = [
            Subject::Guild(guild),
            Subject::Member(guild, user),
            Subject::Subscription(user),
            Subject::Staff(user),
            Subject::Blocked(user),
            Subject::Feedback("a".parse().unwrap()),
            Subject::Team,
            Subject::Cluster("a".parse().unwrap()),
            Subject::Session(TokenHash::from_bytes([0; 32])),
            Subject::Grant(user),
        ];
        assert_eq!(subjects.iter().map(Subject::kind).collect::<BTreeSet<_>>(), BTreeSet::from(Kind::ALL));
        for kind in Kind::ALL {
            assert_eq!(Subject::Many(kind).kind(), kind);
        }
    }

    #[test]
    fn tallies_add_up() {
        let mut tally = Tally::NOTHING;
        for one in [Tally::ADDED, Tally::ADDED, Tally::CHANGED, Tally::REMOVED] {
            tally += one;
        }
        assert_eq!(tally, Tally { added: 2, changed: 1, removed: 1 });
    }
}
