//! Everything that the bot feeds, and everything that an import brings.

use super::{Cause, Grant, StoreError};
use crate::{
    change::{Applied, Key, Kind, Tally, kinds},
    model::{
        ClusterId, Feedback, Guild, GuildId, Heartbeat, Member, Mistake, Roster, StaffPermissions,
        Subscription, TeamMember, Timestamp, UserId,
    },
    session::Session,
};
use async_trait::async_trait;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    num::NonZeroU32,
};

macro_rules! define_records {
    ($(
        #[doc = $doc:literal]
        $kind:ident {
            event: $event:literal, stored: $stored:literal, replaced: $replaced:expr,
            personal: $personal:literal, listed: $listed:literal, alone: $alone:literal,
            $(about $about:tt,)?
            $(record ($($field:ident: $type:ty),+), key ($($key:expr => $key_type:ty),+),)?
        }
    )+) => {
        /// One thing that is fed, synced, imported or exported.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum Record {
            $($(#[doc = $doc] $kind($($type),+),)?)+
        }

        impl Record {
            /// The kind of thing it is.
            #[must_use]
            pub const fn kind(&self) -> Kind {
                match self { $($(Self::$kind(..) => define_records!(@kind $kind $($field)+),)?)+ }
            }

            /// What identifies it.
            #[must_use]
            pub fn key(&self) -> Key {
                match self {
                    $($(Self::$kind($($field),+) => {
                        // Not every field is part of the key.
                        let _ = ($($field,)+);
                        Key::$kind($($key),+)
                    })?)+
                }
            }
        }
    };
    (@kind $kind:ident $($field:tt)+) => { Kind::$kind };
}

kinds!(define_records);

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
    /// The sync replaces, or a record is, of a kind that is kept elsewhere.
    #[error("{} is kept elsewhere", .0.event())]
    KeptElsewhere(Kind),
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
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// One write of what the bot feeds.
#[derive(Debug, Clone, PartialEq)]
pub enum Mutation {
    /// Adds a record, or replaces the one with its key. It must be of a kind that can be put by itself
    /// ([`Kind::is_alone`]), and the guild of a member must be known.
    Put(Record),
    /// Removes the record with this key. The guild of a member must be known; a guild takes its members along, which do
    /// not count.
    Remove(Key),
    /// Replaces the whole team. Places are the same when user and category are.
    ReplaceTeam(Roster),
    /// Keeps a cluster's report in place of its earlier one, whatever their times say: the last to arrive stays, since a
    /// clock that was set back must not keep new ones out.
    Report(Heartbeat),
    /// Removes each of these clusters unless it has reported since: its last report must have arrived at the time given
    /// here. Reports that cannot be read may be removed with them, and then count.
    RemoveSilent(Vec<(ClusterId, Timestamp)>),
}

impl Mutation {
    /// The kind of thing it writes.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Put(record) => record.kind(),
            Self::Remove(key) => key.kind(),
            Self::ReplaceTeam(_) => Kind::Team,
            Self::Report(_) | Self::RemoveSilent(_) => Kind::Cluster,
        }
    }

    /// Checks what needs no store: that every kind can be written by itself, and that no member is of a guild that the batch itself has
    /// removed. Returns the guilds that must be stored already, because the batch names members of them.
    pub fn check(batch: &[Self]) -> Result<BTreeSet<GuildId>, ApplyError> {
        let mut there = BTreeMap::new();
        let mut needed = BTreeSet::new();
        for mutation in batch {
            if let Self::Put(_) | Self::Remove(_) = mutation
                && !mutation.kind().is_alone()
            {
                return Err(ApplyError::NotAlone(mutation.kind()));
            }
            match mutation {
                Self::Put(Record::Guild(guild)) => drop(there.insert(guild.id, true)),
                Self::Remove(Key::Guild(guild)) => drop(there.insert(*guild, false)),
                Self::Put(Record::Member(Member { guild, .. })) | Self::Remove(Key::Member(guild, _)) => {
                    match there.get(guild) {
                        None => drop(needed.insert(*guild)),
                        Some(true) => {}
                        Some(false) => return Err(ApplyError::UnknownGuild(*guild)),
                    }
                }
                Self::Put(_)
                | Self::Remove(_)
                | Self::ReplaceTeam(_)
                | Self::Report(_)
                | Self::RemoveSilent(_) => {}
            }
        }
        Ok(needed)
    }
}

/// Why a batch changed nothing.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// A member's guild is not stored.
    #[error("guild {0} is not known")]
    UnknownGuild(GuildId),
    /// Things of this kind come with others only.
    #[error("{} is not put by itself", .0.event())]
    NotAlone(Kind),
    /// The kind is read from outside of the store, so writing it here would change nothing that anyone sees.
    #[error("{} is kept elsewhere", .0.event())]
    KeptElsewhere(Kind),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Writes what the bot feeds, whatever its kind, and looks it up as it is stored.
#[async_trait]
pub trait Records: Send + Sync {
    /// Applies all mutations in their order as one atomic change, or none of them. What is already so counts as nothing
    /// and makes no change.
    async fn apply(&self, batch: Vec<Mutation>) -> Result<Applied, ApplyError>;

    /// Returns the record with this key. A member of a known guild is always found, without roles if none were put.
    async fn find(&self, key: &Key) -> Result<Option<Record>, StoreError>;

    /// Takes in all records of the source, in any order, and takes away what `replace` says: one atomic change, after
    /// the last record came. Of records with the same key the last one counts. Readers see the state before until the
    /// whole is there, and never wait for it. Writers go on while the records come; they may have to wait, or be refused
    /// as unavailable, while the change is made. A guild that goes takes its members along.
    async fn sync(&self, replace: &Replace, source: &mut dyn RecordSource) -> Result<Applied, SyncError>;

    /// Gives out everything that a sync or an import could bring, as of one moment, a guild before its members and
    /// otherwise in any order and in batches of any size. What cannot be read is left out, and so are the members of a guild
    /// that cannot.
    async fn export(&self, sink: &mut dyn RecordSink) -> Result<(), SyncError>;

    /// Everything that [`forget`](Self::forget) would remove of a user, as of one moment and in any order. What cannot be
    /// read is left out.
    async fn about(&self, user: UserId) -> Result<Vec<Record>, StoreError>;

    /// Removes a user's sessions, grant, member roles, staff grants, subscription and feedback. A block outlasts it,
    /// and so does a place in the team, which the bot's roster decides.
    async fn forget(&self, user: UserId) -> Result<Applied, StoreError>;

    /// Applies one mutation.
    async fn write(&self, mutation: Mutation) -> Result<Tally, ApplyError> {
        self.apply(vec![mutation]).await.map(|applied| applied.tally)
    }

    /// Puts one record.
    async fn put(&self, record: Record) -> Result<Tally, ApplyError> {
        self.write(Mutation::Put(record)).await
    }

    /// Removes one record.
    async fn remove(&self, key: Key) -> Result<Tally, ApplyError> {
        self.write(Mutation::Remove(key)).await
    }
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
