//! Kinds of stored records, and changes of them.

use crate::{
    model::{ClusterId, FeedbackId, GuildId, Name, NoticeId, PeriodSubject, Timestamp, UserId},
    session::TokenHash,
};
use std::{collections::BTreeMap, fmt};

/// The one list of kinds. It calls the macro `$expand` with one entry per kind:
///
/// - the kind's name in lines of a sync, in the change stream and in the audit log;
/// - `stored`: its name in the history of a database, which must never change, if it is another;
/// - `replaced`: the word that selects it for replacement in a sync, if a sync of the bot may contain it;
/// - its properties;
/// - `about`: what a change names. Changes of a kind without it are always [`Subject::Many`];
/// - `record`: what is stored, for kinds that a sync or an import may contain, and `key`: what identifies such a record.
macro_rules! kinds {
    ($expand:ident) => {
        $expand! {
            /// Guilds that have the bot.
            Guild "guild" replaced "guilds" [ReplacedWithAll, Listed, Alone]
                about (id: GuildId) record (guild: Guild) key (guild.id => GuildId);
            /// The roles of members.
            Member "member" replaced "members" [ReplacedWithAll, Listed, OfGuild, Alone]
                about (guild: GuildId, user: UserId)
                record (member: Member) key (member.guild => GuildId, member.user => UserId);
            /// Premium subscriptions.
            Subscription "plus" stored "subscription" replaced "plus" [ReplacedWithAll, Listed, Alone]
                about (id: UserId) record (subscription: Subscription) key (subscription.user => UserId);
            /// Permissions granted by name.
            Staff "staff" replaced "staff" [ReplacedWithAll, Listed, Alone]
                about (id: UserId) record (user: UserId, grants: StaffPermissions) key (*user => UserId);
            /// Blocked users.
            Blocked "blocked" replaced "blocked" [ReplacedWithAll, Listed, Alone]
                about (id: UserId) record (user: UserId) key (*user => UserId);
            /// Feedback.
            Feedback "feedback" replaced "feedback" [ReplacedWithAll, Alone]
                about (id: FeedbackId) record (feedback: Feedback) key (feedback.id.clone() => FeedbackId);
            /// Places in the team.
            Team "team" replaced "team" [ReplacedWithAll]
                record (member: TeamMember) key (member.user.id => UserId, member.category.clone() => Name);
            /// Names of the channels and roles of guilds.
            Outline "outline" replaced "outlines" [OfGuild, Alone]
                about (guild: GuildId) record (outline: Outline) key (outline.guild => GuildId);
            /// The schema of settings. Only an import contains it.
            Schema "schema" []
                record (schema: Schema) key (() => ());
            /// Settings of guilds. Only an import contains them.
            Settings "settings" []
                about (guild: GuildId, revision: u64) record (guild: GuildId, settings: Stored) key (*guild => GuildId);
            /// The history of settings. Only an import contains it.
            SettingsEdit "settings_edit" [Personal]
                record (entry: HistoryEntry) key (entry.guild => GuildId, entry.revision => u64);
            /// Confirmations of settings by the bot.
            Applied "applied" []
                about (guild: GuildId, revision: u64);
            /// Notices. A sync never contains them.
            Notice "notice" [Alone]
                about (id: NoticeId) record (notice: Notice) key (notice.id.clone() => NoticeId);
            /// Periods of the bot's history. Only an import contains them.
            Period "period" []
                record (period: Period) key (period.subject.clone() => PeriodSubject, period.began_at => Timestamp);
            /// Reports of the bot's clusters.
            Cluster "cluster" []
                about (id: ClusterId);
            /// Sessions. Only an import contains them.
            Session "session" [Personal]
                about (id: TokenHash) record (session: Session) key (session.id => TokenHash);
            /// Grants of the platform. Only an import contains them.
            Grant "grant" [Personal, Listed]
                about (id: UserId) record (user: UserId, grant: Grant) key (*user => UserId);
        }
    };
}

pub(crate) use kinds;

/// A position in the history of all changes. Later changes have higher revisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Revision(pub u64);

/// A change: `subject` may differ from this revision on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Position in the history.
    pub revision: Revision,
    /// What may differ.
    pub subject: Subject,
}

/// What holds for some kinds.
#[derive(PartialEq)]
enum Property {
    /// A sync that replaces all kinds replaces this one.
    ReplacedWithAll,
    /// Its changes reveal who uses the service, and when.
    Personal,
    /// The guild lists of users depend on it.
    Listed,
    /// Its records belong to a guild: they need it, and are removed with it.
    OfGuild,
    /// A single record of it can be put and removed.
    Alone,
}

macro_rules! define_kinds {
    ($(
        #[doc = $doc:literal]
        $kind:ident $event:literal $(stored $stored:literal)? $(replaced $replaced:literal)? [$($property:ident),*]
            $(about ($($part:ident: $part_type:ty),+))?
            $(record $record:tt key ($($key:expr => $key_type:ty),+))?;
    )+) => {
        /// The kinds of records that change.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Kind {
            $(#[doc = $doc] $kind,)+
        }

        impl Kind {
            /// All kinds.
            pub const ALL: [Self; [$($event),+].len()] = [$(Self::$kind),+];

            /// Returns the name in lines of a sync and in the change stream.
            #[must_use]
            pub const fn event(self) -> &'static str {
                match self { $(Self::$kind => $event,)+ }
            }

            /// Returns the name in the history of a database.
            #[must_use]
            pub const fn stored(self) -> &'static str {
                match self { $(Self::$kind => [$($stored,)? $event][0],)+ }
            }

            const fn properties(self) -> &'static [Property] {
                match self { $(Self::$kind => &[$(Property::$property),*],)+ }
            }

            /// Returns the word that selects this kind for replacement in a sync. `None` if no sync of the bot may contain it.
            #[must_use]
            pub const fn replaced(self) -> Option<&'static str> {
                match self { $(Self::$kind => [$(Some($replaced),)? None][0],)+ }
            }

            /// Returns whether a sync that replaces all kinds replaces this one.
            #[must_use]
            pub fn is_replaced_with_all(self) -> bool {
                self.properties().contains(&Property::ReplacedWithAll)
            }

            /// Returns whether a sync, an import or an export may contain records of this kind.
            #[must_use]
            pub const fn has_records(self) -> bool {
                match self { $(Self::$kind => [$(define_kinds!(@true $record),)? false][0],)+ }
            }

            /// Returns whether records of this kind belong to a guild: they need it, and are removed with it.
            #[must_use]
            pub fn is_of_guild(self) -> bool {
                self.properties().contains(&Property::OfGuild)
            }

            /// Returns whether changes of this kind reveal who uses the service, and when.
            #[must_use]
            pub fn is_personal(self) -> bool {
                self.properties().contains(&Property::Personal)
            }

            /// Returns whether a single record of this kind can be put and removed.
            #[must_use]
            pub fn is_writable_alone(self) -> bool {
                self.properties().contains(&Property::Alone)
            }

            /// Returns whether the guild lists of users depend on this kind.
            #[must_use]
            pub fn is_listed(self) -> bool {
                self.properties().contains(&Property::Listed)
            }
        }

        /// What a change is about. It names the record, never its new state.
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        pub enum Subject {
            $($(#[doc = $doc] $kind($($part_type),+),)?)+
            /// Any number of records of a kind: too many to name each, or a kind whose changes are never named.
            Many(Kind),
        }

        impl Subject {
            /// Returns the kind of the changed record.
            #[must_use]
            pub const fn kind(&self) -> Kind {
                match self {
                    $($(Self::$kind($(define_kinds!(@any $part)),+) => Kind::$kind,)?)+
                    Self::Many(kind) => *kind,
                }
            }

            /// Returns the parts of the id, each with its name. Empty for [`Subject::Many`].
            #[must_use]
            pub fn parts(&self) -> Vec<(&'static str, &dyn fmt::Display)> {
                match self {
                    $($(Self::$kind($($part),+) => vec![$((stringify!($part), $part)),+],)?)+
                    Self::Many(_) => Vec::new(),
                }
            }

            /// Parses what [`parts`](Self::parts) displays. `None` if the parts are not an id of this kind.
            #[must_use]
            pub fn parse<'a>(kind: Kind, mut parts: impl Iterator<Item = &'a str>) -> Option<Self> {
                let subject = match kind {
                    $($(Kind::$kind => Self::$kind($(parts.next()?.parse::<$part_type>().ok()?),+),)?)+
                    other => return Some(Self::Many(other)),
                };
                parts.next().is_none().then_some(subject)
            }
        }

        /// What identifies a record.
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Key {
            $($(#[doc = $doc] $kind($($key_type),+),)?)+
        }

        impl Key {
            /// Returns the kind of the record.
            #[must_use]
            pub const fn kind(&self) -> Kind {
                match self {
                    $($(Self::$kind($(define_kinds!(@any $key_type)),+) => Kind::$kind,)?)+
                }
            }
        }
    };
    (@any $any:tt) => { _ };
    (@true $any:tt) => { true };
}

kinds!(define_kinds);

impl Key {
    /// Returns the subject of a change to the record.
    #[must_use]
    pub fn subject(&self) -> Subject {
        match self {
            Self::Guild(id) => Subject::Guild(*id),
            Self::Member(guild, user) => Subject::Member(*guild, *user),
            Self::Subscription(id) => Subject::Subscription(*id),
            Self::Staff(id) => Subject::Staff(*id),
            Self::Blocked(id) => Subject::Blocked(*id),
            Self::Feedback(id) => Subject::Feedback(id.clone()),
            Self::Outline(guild) => Subject::Outline(*guild),
            Self::Notice(id) => Subject::Notice(id.clone()),
            Self::Session(id) => Subject::Session(*id),
            Self::Grant(id) => Subject::Grant(*id),
            // A change of settings names their revision too, which only the use case knows.
            Self::Team(..)
            | Self::Schema(())
            | Self::Settings(_)
            | Self::SettingsEdit(..)
            | Self::Period(..) => Subject::Many(self.kind()),
        }
    }

    /// Returns the guild that the record belongs to: it needs the guild, and is removed with it.
    #[must_use]
    pub fn guild(&self) -> Option<GuildId> {
        let guild = match self {
            Self::Member(guild, _) | Self::Outline(guild) => Some(*guild),
            _ => None,
        };
        debug_assert_eq!(guild.is_some(), self.kind().is_of_guild());
        guild
    }
}

/// The answer to "what has changed since this revision?"
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changes {
    /// All changes, in order. The reader is now at the last one, or where it was if there are none.
    Listed(Vec<Change>),
    /// The history does not reach back that far. The reader must reload everything, and is then at this revision.
    Gap(Revision),
}

/// How many records a write added, changed and removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Records that did not exist before.
    pub added: u64,
    /// Records that are different now.
    pub changed: u64,
    /// Records that are gone. Records removed along with another one, such as members with their guild, are not counted.
    pub removed: u64,
}

impl Tally {
    /// No record differs.
    pub const NOTHING: Self = Self { added: 0, changed: 0, removed: 0 };
    /// One record was added.
    pub const ADDED: Self = Self { added: 1, ..Self::NOTHING };
    /// One record was changed.
    pub const CHANGED: Self = Self { changed: 1, ..Self::NOTHING };
    /// One record was removed.
    pub const REMOVED: Self = Self { removed: 1, ..Self::NOTHING };
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.added += other.added;
        self.changed += other.changed;
        self.removed += other.removed;
    }
}

/// The outcome of a write.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Applied {
    /// How many records differ.
    pub tally: Tally,
    /// The changes that the write recorded, in order.
    pub changes: Vec<Change>,
}

/// Returns how many changes of a kind a write names. More are summarised as [`Subject::Many`], and caches drop everything
/// that depends on the kind. Guilds and members change by the thousand, and each dropped session or grant costs a signed-in
/// user a look-up, so they are named unless that floods the history.
#[must_use]
pub const fn max_named(kind: Kind) -> usize {
    match kind {
        Kind::Guild | Kind::Member | Kind::Session | Kind::Grant => 10_000,
        _ => 100,
    }
}

/// Collects the changes of one write, until the storage appends them to its history.
#[derive(Debug, Default)]
pub struct Journal(BTreeMap<Kind, Vec<Subject>>);

impl Journal {
    /// Notes that the subject may have changed.
    pub fn note(&mut self, subject: Subject) {
        let kind = subject.kind();
        let subjects = self.0.entry(kind).or_default();
        if matches!(subject, Subject::Many(_)) && subjects.contains(&subject) {
            return;
        }
        // One more than the limit shows that it was exceeded.
        if subjects.len() <= max_named(kind) {
            subjects.push(subject);
        }
    }

    /// Notes a change, unless the tally is empty. Returns the tally.
    pub fn noted(&mut self, tally: Tally, subject: impl FnOnce() -> Subject) -> Tally {
        if tally != Tally::NOTHING {
            self.note(subject());
        }
        tally
    }

    /// Returns the noted subjects, grouped by kind.
    #[must_use]
    pub fn into_subjects(self) -> Vec<Subject> {
        let subjects = self.0.into_iter().flat_map(|(kind, subjects)| {
            if subjects.len() <= max_named(kind) { subjects } else { vec![Subject::Many(kind)] }
        });
        subjects.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_names_changes_up_to_a_limit_per_kind() {
        let mut journal = Journal::default();
        let users = |count| (1..=count).map(|user| UserId::new(user).unwrap());
        users(101).map(Subject::Blocked).for_each(|subject| journal.note(subject));
        users(100).map(Subject::Staff).for_each(|subject| journal.note(subject));
        users(300).map(Subject::Grant).for_each(|subject| journal.note(subject));
        for _ in 0..2 {
            journal.note(Subject::Many(Kind::Team));
        }
        let subjects = journal.into_subjects();
        assert_eq!(subjects.len(), 1 + 100 + 300 + 1, "{subjects:?}");
        for kind in [Kind::Blocked, Kind::Team] {
            assert!(subjects.contains(&Subject::Many(kind)), "{subjects:?}");
        }
    }
}
