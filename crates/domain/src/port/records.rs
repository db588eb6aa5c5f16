//! Everything that the bot feeds or an import contains.

use super::{Cause, Grant, StoreError};
use crate::{
    change::{Applied, Key, Kind, Tally, kinds},
    model::{
        ClusterId, Feedback, FieldError, Guild, GuildId, Heartbeat, Member, Notice, Outline, Period,
        PeriodChange, Roster, StaffPermissions, Subscription, TeamMember, Timestamp, UserId,
    },
    session::Session,
    settings::{HistoryEntry, Schema, Stored},
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
        $kind:ident $event:literal $(stored $stored:literal)? $(replaced $replaced:literal)? [$($property:ident),*]
            $(about $about:tt)?
            $(record ($($field:ident: $type:ty),+) key ($($key:expr => $key_type:ty),+))?;
    )+) => {
        /// A record that is fed, synced, imported or exported.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Record {
            $($(#[doc = $doc] $kind($($type),+),)?)+
        }

        impl Record {
            /// Returns the kind of the record.
            #[must_use]
            pub const fn kind(&self) -> Kind {
                match self { $($(Self::$kind(..) => define_records!(@kind $kind $($field)+),)?)+ }
            }

            /// Returns what identifies the record.
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

/// A record and its line number.
#[derive(Debug, Clone, PartialEq)]
pub struct Numbered {
    /// Counted from 1.
    pub line: u64,
    /// The record on that line.
    pub record: Record,
}

/// The source of a sync's records, read in batches so that it may be larger than memory.
#[async_trait]
pub trait RecordSource: Send {
    /// Returns the next records, or `None` at the end. An error ends the sync, which then changes nothing.
    async fn next(&mut self) -> Result<Option<Vec<Numbered>>, SourceError>;
}

/// A source that fails at the first record that a check rejects.
pub struct CheckedSource<'a, F> {
    /// The source.
    pub source: &'a mut dyn RecordSource,
    /// Is called with each record before it is passed on.
    pub check: F,
}

#[async_trait]
impl<F> RecordSource for CheckedSource<'_, F>
where
    F: FnMut(&Numbered) -> Result<(), SourceError> + Send,
{
    async fn next(&mut self) -> Result<Option<Vec<Numbered>>, SourceError> {
        let records = self.source.next().await?;
        records.iter().flatten().try_for_each(&mut self.check)?;
        Ok(records)
    }
}

/// Why a source ended early.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// A line is not a valid record.
    #[error(transparent)]
    Refused(#[from] InvalidLineError),
    /// The team would exceed its maximum size.
    #[error("line {line} is one too many: a team has at most {} places", Roster::MAX)]
    TeamFull {
        /// The first line over the maximum.
        line: u64,
    },
    /// The sync replaces or contains a kind that is read from outside of the store.
    #[error("{} is kept elsewhere", .0.event())]
    KeptElsewhere(Kind),
    /// The source cannot be read any further.
    #[error(transparent)]
    Broken(Cause),
}

impl SourceError {
    /// Creates a [`Broken`](Self::Broken) error.
    pub fn broken(cause: impl Into<Cause>) -> Self {
        Self::Broken(cause.into())
    }
}

/// A line that is not a valid record, with all its errors.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct InvalidLineError {
    /// Counted from 1.
    pub line: u64,
    /// Each with its path in the line.
    pub errors: Vec<FieldError>,
}

impl InvalidLineError {
    /// Creates an error for a line with one invalid field.
    #[must_use]
    pub fn with_field(line: u64, path: &str, message: &str) -> Self {
        Self { line, errors: vec![FieldError::new(path, message)] }
    }

    /// Returns the errors with their position in the stream: `line 7: members`.
    #[must_use]
    pub fn into_field_errors(self) -> Vec<FieldError> {
        let line = self.line;
        let located = |FieldError { path, message }| {
            let path = if path.is_empty() { String::new() } else { format!(": {path}") };
            FieldError { path: format!("line {line}{path}"), message }
        };
        self.errors.into_iter().map(located).collect()
    }
}

impl fmt::Display for InvalidLineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}", self.line)?;
        for (index, FieldError { path, message }) in self.errors.iter().enumerate() {
            let (before, after) =
                (if index == 0 { ":" } else { ";" }, if path.is_empty() { "" } else { " " });
            write!(f, "{before} {path}{after}{message}")?;
        }
        Ok(())
    }
}

/// The destination of an export's records, written in batches.
#[async_trait]
pub trait RecordSink: Send {
    /// Takes the next records. An error ends the export.
    async fn take(&mut self, records: Vec<Record>) -> Result<(), Cause>;
}

/// What a sync removes: everything of these kinds that its records do not contain.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Replace {
    /// The kinds that are replaced. Records of other kinds are only added.
    pub kinds: BTreeSet<Kind>,
    /// Limits the replacement of guilds and members to those that one shard of the bot sees.
    pub shard: Option<ShardSlice>,
}

impl Replace {
    /// Returns whether the replacement may remove this guild, or members of it.
    #[must_use]
    pub fn covers(&self, kind: Kind, guild: GuildId) -> bool {
        self.kinds.contains(&kind) && self.shard.is_none_or(|slice| slice.has(guild))
    }
}

/// The guilds that one shard of the bot sees. The index is below the count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShardSlice {
    index: u32,
    count: NonZeroU32,
}

impl ShardSlice {
    /// Creates the slice of shard `index` out of `count`. `None` if the index is out of range.
    #[must_use]
    pub fn new(index: u32, count: u32) -> Option<Self> {
        let count = NonZeroU32::new(count)?;
        (index < count.get()).then_some(Self { index, count })
    }

    /// Returns whether the shard sees this guild.
    #[must_use]
    pub const fn has(&self, guild: GuildId) -> bool {
        guild.shard(self.count) == self.index
    }

    /// Returns the number of the shard, from 0.
    #[must_use]
    pub const fn index(&self) -> u32 {
        self.index
    }

    /// Returns the number of shards.
    #[must_use]
    pub const fn count(&self) -> NonZeroU32 {
        self.count
    }
}

/// Why a sync changed nothing, or an export failed.
#[derive(Debug, thiserror::Error)]
pub enum SyncError {
    /// The source failed.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The sink of an export failed with this error.
    #[error("the records could not be passed on")]
    Sink(#[source] Cause),
    /// The guild of a member or an outline is neither stored nor part of the sync.
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

/// One write of data that the bot feeds.
#[derive(Debug, Clone, PartialEq)]
pub enum Mutation {
    /// Adds a record, or replaces the one with its key. Its kind must be writable alone ([`Kind::is_writable_alone`]), and the
    /// guild of a member must be known.
    Put(Record),
    /// Removes the record with this key. The guild of a member must be known. Removing a guild removes its members,
    /// which are not counted.
    Remove(Key),
    /// Replaces the whole team. User and category identify a place.
    ReplaceTeam(Roster),
    /// Replaces a cluster's report, whatever the times in the reports: the last to arrive is kept, since a clock that
    /// was set back must not reject new reports.
    Report(Heartbeat),
    /// Removes each of these clusters whose last report arrived at the given time, that is, unless it has reported
    /// since. Unreadable reports may be removed with them, and then count.
    RemoveSilent(Vec<(ClusterId, Timestamp)>),
    /// Removes a cluster that has stopped on purpose.
    SignOff(ClusterId),
    /// Changes the bot's history as [`PeriodChange::decide`] says. Extending a watched period records no change.
    Period(PeriodChange),
}

impl Mutation {
    /// Returns the kind that it writes.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Put(record) => record.kind(),
            Self::Remove(key) => key.kind(),
            Self::ReplaceTeam(_) => Kind::Team,
            Self::Report(_) | Self::RemoveSilent(_) | Self::SignOff(_) => Kind::Cluster,
            Self::Period(_) => Kind::Period,
        }
    }

    /// Checks what needs no store: that every kind can be written alone, and that no record belongs to a guild that
    /// the batch itself has removed. Returns the guilds that must be stored already.
    pub fn check(batch: &[Self]) -> Result<BTreeSet<GuildId>, ApplyError> {
        let mut there = BTreeMap::new();
        let mut needed = BTreeSet::new();
        for mutation in batch {
            let (key, is_put) = match mutation {
                Self::Put(record) => (record.key(), true),
                Self::Remove(key) => (key.clone(), false),
                _ => continue,
            };
            if !key.kind().is_writable_alone() {
                return Err(ApplyError::NotWritableAlone(key.kind()));
            }
            if let Key::Guild(guild) = key {
                there.insert(guild, is_put);
            } else if let Some(guild) = key.guild() {
                match there.get(&guild) {
                    None => drop(needed.insert(guild)),
                    Some(true) => {}
                    Some(false) => return Err(ApplyError::UnknownGuild(guild)),
                }
            }
        }
        Ok(needed)
    }
}

/// Why a batch changed nothing.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// The guild of a member or an outline is not stored.
    #[error("guild {0} is not known")]
    UnknownGuild(GuildId),
    /// Too many notices are open.
    #[error("at most {} notices can be open", Notice::MAX_OPEN)]
    TooManyNotices,
    /// Records of this kind cannot be written alone.
    #[error("{} is not put by itself", .0.event())]
    NotWritableAlone(Kind),
    /// The kind is read from outside of the store, so a write here would have no visible effect.
    #[error("{} is kept elsewhere", .0.event())]
    KeptElsewhere(Kind),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Writes and looks up the records that the bot feeds, of every kind.
#[async_trait]
pub trait Records: Send + Sync {
    /// Applies all mutations in order as one atomic change, or none of them. A mutation without effect counts as
    /// nothing and records no change.
    async fn apply(&self, batch: Vec<Mutation>) -> Result<Applied, ApplyError>;

    /// Returns the record with this key. A member of a known guild is always found, without roles if none were put.
    async fn find(&self, key: &Key) -> Result<Option<Record>, StoreError>;

    /// Adds all records of the source, in any order, and removes what `replace` covers, as one atomic change after
    /// the last record. Of records with the same key the last one counts. Readers see the previous state until then,
    /// and never wait. Writers proceed while the records arrive; during the change itself they may wait or be
    /// rejected as unavailable. Removing a guild removes its members.
    async fn sync(&self, replace: &Replace, source: &mut dyn RecordSource) -> Result<Applied, SyncError>;

    /// Exports everything that a sync or an import could contain, as one snapshot. A guild precedes its members;
    /// otherwise order and batch size are unspecified. Unreadable records are left out, and so are members of an
    /// unreadable guild.
    async fn export(&self, sink: &mut dyn RecordSink) -> Result<(), SyncError>;

    /// Returns everything that [`forget`](Self::forget) would remove of a user, as one snapshot, in any order.
    /// Unreadable records are left out.
    async fn about(&self, user: UserId) -> Result<Vec<Record>, StoreError>;

    /// Removes a user's sessions, grant, member roles, staff grants, subscription and feedback. A block remains, and
    /// so does a place in the team, which the bot's roster decides.
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
