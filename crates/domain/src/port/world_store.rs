//! Everything the bot feeds, at once.

use super::{Cause, Grant, StoreError};
use crate::{
    change::{Kind, Tally},
    model::{
        Feedback, Guild, GuildId, Member, Mistake, Roster, StaffGrants, Subscription, TeamMember, UserId,
    },
    session::Session,
};
use async_trait::async_trait;
use std::{collections::BTreeSet, fmt, num::NonZeroU32};

/// One thing that a sync, an import or an export carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// A guild.
    Guild(Guild),
    /// A member's roles.
    Member(Member),
    /// A subscription.
    Subscription(Subscription),
    /// Grants by name.
    Staff(UserId, StaffGrants),
    /// A blocked user.
    Blocked(UserId),
    /// An entry of feedback.
    Feedback(Feedback),
    /// A place in the team.
    TeamMember(TeamMember),
    /// A session; only an import brings one.
    Session(Session),
    /// A grant; only an import brings one.
    Grant(UserId, Grant),
}

impl Record {
    /// The kind of thing it is.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Guild(_) => Kind::Guild,
            Self::Member(_) => Kind::Member,
            Self::Subscription(_) => Kind::Subscription,
            Self::Staff(..) => Kind::Staff,
            Self::Blocked(_) => Kind::Blocked,
            Self::Feedback(_) => Kind::Feedback,
            Self::TeamMember(_) => Kind::Team,
            Self::Session(_) => Kind::Session,
            Self::Grant(..) => Kind::Grant,
        }
    }
}

/// A record and the line it stood on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Numbered {
    /// Counted from 1.
    pub line: u64,
    /// What stood there.
    pub record: Record,
}

/// Where a sync takes its records from, a batch at a time, so that it may be longer than memory.
#[async_trait]
pub trait RecordSource: Send {
    /// The next records; nothing at the end. An error ends the sync, which then changes nothing.
    async fn next(&mut self) -> Result<Option<Vec<Numbered>>, SourceError>;
}

/// Why a source has no more records to give, though it has not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// A line is no record.
    #[error(transparent)]
    Refused(#[from] RefusedLine),
    /// The team would have more places than it can.
    #[error("line {line} is one too many: a team has at most {} places", Roster::MAX)]
    TeamFull {
        /// The first line that finds no place.
        line: u64,
    },
    /// The source cannot be read any further.
    #[error(transparent)]
    Broken(Cause),
}

impl SourceError {
    /// It cannot be read any further because of this.
    pub fn broken(cause: impl Into<Cause>) -> Self {
        Self::Broken(cause.into())
    }
}

/// A line that is no record, with all its mistakes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct RefusedLine {
    /// Counted from 1.
    pub line: u64,
    /// Each by its place in the line.
    pub mistakes: Vec<Mistake>,
}

impl RefusedLine {
    /// A line with one mistake.
    #[must_use]
    pub fn because(line: u64, path: &str, message: &str) -> Self {
        Self { line, mistakes: vec![Mistake { path: path.to_owned(), message: message.to_owned() }] }
    }

    /// The mistakes, each by its place in the stream: `line 7: members`.
    #[must_use]
    pub fn into_mistakes(self) -> Vec<Mistake> {
        let line = self.line;
        let located = |Mistake { path, message }| {
            let path = if path.is_empty() { String::new() } else { format!(": {path}") };
            Mistake { path: format!("line {line}{path}"), message }
        };
        self.mistakes.into_iter().map(located).collect()
    }
}

impl fmt::Display for RefusedLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}", self.line)?;
        for (index, Mistake { path, message }) in self.mistakes.iter().enumerate() {
            let (before, after) =
                (if index == 0 { ":" } else { ";" }, if path.is_empty() { "" } else { " " });
            write!(f, "{before} {path}{after}{message}")?;
        }
        Ok(())
    }
}

/// Where an export puts its records, a batch at a time.
#[async_trait]
pub trait RecordSink: Send {
    /// Takes the next records. An error ends the export.
    async fn take(&mut self, records: Vec<Record>) -> Result<(), Cause>;
}

/// What a sync takes away: everything of these kinds that its records leave out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Replace {
    /// The kinds that are replaced. Others are only added to.
    pub kinds: BTreeSet<Kind>,
    /// Narrows the replacement of guilds and members to what one shard of the bot sees.
    pub shard: Option<ShardSlice>,
}

impl Replace {
    /// Whether a guild, or the members of a guild, may be taken away.
    #[must_use]
    pub fn covers(&self, kind: Kind, guild: GuildId) -> bool {
        self.kinds.contains(&kind) && self.shard.is_none_or(|slice| slice.has(guild))
    }
}

/// What one shard of the bot sees. The index is below the count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShardSlice {
    index: u32,
    count: NonZeroU32,
}

impl ShardSlice {
    /// The guilds of shard `index` out of `count`.
    #[must_use]
    pub fn new(index: u32, count: u32) -> Option<Self> {
        let count = NonZeroU32::new(count)?;
        (index < count.get()).then_some(Self { index, count })
    }

    /// Whether the shard sees this guild.
    #[must_use]
    pub const fn has(&self, guild: GuildId) -> bool {
        guild.shard(self.count) == self.index
    }

    /// The number of the shard, from 0.
    #[must_use]
    pub const fn index(&self) -> u32 {
        self.index
    }

    /// Out of how many.
    #[must_use]
    pub const fn count(&self) -> NonZeroU32 {
        self.count
    }
}

/// Why a sync changed nothing.
#[derive(Debug, thiserror::Error)]
pub enum SyncError {
    /// The source failed.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The sink took no more records of an export; this is its own error.
    #[error("the records could not be passed on")]
    Sink(#[source] Cause),
    /// A member's guild is neither stored nor part of the sync.
    #[error("line {line} names guild {guild}, which is not known")]
    UnknownGuild {
        /// The first such line.
        line: u64,
        /// The guild it names.
        guild: GuildId,
    },
    /// A kind was to be replaced that is kept outside of the store.
    #[error("what is kept outside of the store cannot be replaced by a sync")]
    KeptOutside {
        /// The first such kind.
        kind: Kind,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Changes, reads and forgets across all kinds at once.
#[async_trait]
pub trait WorldStore: Send + Sync {
    /// Takes in all records of the source, in any order, and takes away what `replace` says: one atomic change, after
    /// the last record came. Of records with the same key the last one counts. Readers see the state before until the
    /// whole is there, and never wait for it. Writers go on while the records come; they may have to wait, or be refused
    /// as unavailable, while the change is made. A guild that goes takes its members along.
    async fn sync(&self, replace: &Replace, source: &mut dyn RecordSource) -> Result<Tally, SyncError>;

    /// Gives out everything that a sync or an import could bring, as of one moment, a guild before its members and
    /// otherwise in any order and in batches of any size. What cannot be read is left out, and so are the members of a guild
    /// that cannot.
    async fn export(&self, sink: &mut dyn RecordSink) -> Result<(), SyncError>;

    /// Everything that [`forget`](Self::forget) would remove of a user, as of one moment and in any order. What cannot be
    /// read is left out.
    async fn about(&self, user: UserId) -> Result<Vec<Record>, StoreError>;

    /// Removes a user's sessions, grant, member roles, staff grants, subscription and feedback. A block outlasts it,
    /// and so does a place in the team, which the bot's roster decides.
    async fn forget(&self, user: UserId) -> Result<Tally, StoreError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_slice_exists_only_within_its_count() {
        assert_eq!(ShardSlice::new(0, 0), None);
        assert_eq!(ShardSlice::new(2, 2), None);
        let slice = ShardSlice::new(1, 2).unwrap();
        assert_eq!((slice.index(), slice.count().get()), (1, 2));
    }

    #[test]
    fn a_replacement_covers_its_kinds_within_its_shard() {
        let (even, odd) = (GuildId::new(2 << 22).unwrap(), GuildId::new(3 << 22).unwrap());
        let all = Replace { kinds: [Kind::Guild].into(), shard: None };
        assert!(all.covers(Kind::Guild, even) && all.covers(Kind::Guild, odd));
        assert!(!all.covers(Kind::Member, even));
        let half = Replace { shard: ShardSlice::new(1, 2), ..all };
        assert!(!half.covers(Kind::Guild, even) && half.covers(Kind::Guild, odd));
    }
}
