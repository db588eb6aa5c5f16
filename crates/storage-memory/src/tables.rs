//! All stored data: records by their key, an index of what they name, and what is no record.

use crate::{history::History, spent_codes::Marks};
use companion_domain::{
    change::{Journal, Key, Kind, Tally},
    model::{
        ClusterId, Feedback, Guild, GuildId, GuildWithRoles, Heartbeat, Member, Notice, Period,
        StaffPermissions, Subscription, TeamMember, Timestamp, UserId,
    },
    port::{Grant, GrantSummary, GrantVersion, Listing, ListingScope, Memo, PlatformPause, Record},
    session::{Session, TokenHash},
    settings::{HistoryEntry, Schema, Stored},
};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

/// All tables, and the history of their changes.
#[derive(Default)]
pub(crate) struct Tables {
    records: BTreeMap<Kind, BTreeMap<Key, Record>>,
    /// The records that name a user or a guild. A name without records takes no memory.
    named: HashMap<Named, BTreeSet<Key>>,
    /// The last report of each cluster.
    pub(crate) clusters: BTreeMap<ClusterId, Arc<Heartbeat>>,
    /// The ends of claims on refreshing a grant.
    pub(crate) claims: HashMap<UserId, Timestamp>,
    /// The highest version ever written, over all users. A grant that is removed and created again never repeats a
    /// version that a slow refresh still holds.
    newest_grant: u64,
    pub(crate) spent_codes: Marks,
    /// The last pause requested by the platform, expired or not.
    pub(crate) platform_pause: Option<PlatformPause>,
    pub(crate) history: History,
}

/// What a record names.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Named {
    /// Whom it is about.
    User(UserId),
    /// The guild that it is removed with.
    Guild(GuildId),
    /// A guild that a subscription makes premium.
    Premium(GuildId),
    /// Feedback that may be shown.
    Positive,
}

fn names(key: &Key, record: &Record) -> Vec<Named> {
    let mut names: Vec<_> = key.guild().map(Named::Guild).into_iter().collect();
    match record {
        Record::Member(member) => names.push(Named::User(member.user)),
        Record::Subscription(it) => names.extend(it.guilds.as_slice().iter().copied().map(Named::Premium)),
        Record::Feedback(entry) => {
            names.push(Named::User(entry.submitter.id));
            names.extend(entry.rating.is_positive().then_some(Named::Positive));
        }
        Record::SettingsEdit(entry) => names.extend(entry.edit.by.map(Named::User)),
        Record::Session(session) => names.push(Named::User(session.user)),
        _ => {}
    }
    names
}

/// What the records of a kind contain.
pub(crate) trait Content: Sized + 'static {
    const KIND: Kind;

    /// Returns the content of a record of this kind.
    fn of(record: &Record) -> Option<&Self>;
}

macro_rules! contents {
    ($($kind:ident: $content:ty,)+) => {$(
        impl Content for $content {
            const KIND: Kind = Kind::$kind;

            fn of(record: &Record) -> Option<&Self> {
                if let Record::$kind(.., content) = record { Some(content) } else { None }
            }
        }
    )+};
}

contents! {
    Feedback: Feedback,
    Grant: Grant,
    Guild: Guild,
    Member: Member,
    Notice: Notice,
    Period: Period,
    Schema: Schema,
    Session: Session,
    Settings: Stored,
    SettingsEdit: HistoryEntry,
    Staff: StaffPermissions,
    Subscription: Subscription,
    Team: TeamMember,
}

impl Tables {
    pub(crate) fn get(&self, key: &Key) -> Option<&Record> {
        self.records.get(&key.kind())?.get(key)
    }

    /// Returns the content of a record.
    pub(crate) fn content<T: Content>(&self, key: &Key) -> Option<&T> {
        T::of(self.get(key)?)
    }

    /// Returns the contents of all records of a kind, in the order of their keys.
    pub(crate) fn contents<T: Content>(&self) -> impl Iterator<Item = &T> {
        self.all(T::KIND).filter_map(T::of)
    }

    /// Returns all records of a kind, in the order of their keys.
    pub(crate) fn all(&self, kind: Kind) -> impl Iterator<Item = &Record> {
        self.records.get(&kind).into_iter().flat_map(BTreeMap::values)
    }

    /// Returns the keys of the records that name this, in order.
    pub(crate) fn naming(&self, name: Named) -> impl Iterator<Item = &Key> {
        self.named.get(&name).into_iter().flatten()
    }

    /// Returns the keys of all records about a user.
    pub(crate) fn keys_about(&self, user: UserId) -> Vec<Key> {
        let single = [Key::Grant(user), Key::Staff(user), Key::Subscription(user)];
        self.naming(Named::User(user)).cloned().chain(single).collect()
    }

    /// Adds or replaces a record, and notes the change unless the record is equal. A record whose guild is unknown is
    /// ignored, because the same sync has removed the guild.
    pub(crate) fn put(&mut self, record: Record, journal: &mut Journal) -> Tally {
        let key = record.key();
        if key.guild().is_some_and(|guild| !self.has_guild(guild)) {
            return Tally::NOTHING;
        }
        let subject = key.subject();
        journal.noted(self.set(record), || subject)
    }

    /// Removes a record, and notes the change if it existed. What goes with a guild is noted, but not counted.
    pub(crate) fn remove(&mut self, key: &Key, journal: &mut Journal) -> Tally {
        if let Key::Guild(guild) = key {
            for key in self.naming(Named::Guild(*guild)).cloned().collect::<Vec<_>>() {
                self.remove(&key, journal);
            }
        }
        journal.noted(self.unset(key), || key.subject())
    }

    /// Like [`put`](Self::put), without a note.
    pub(crate) fn set(&mut self, record: Record) -> Tally {
        let key = record.key();
        if self.get(&key) == Some(&record) {
            return Tally::NOTHING;
        }
        let earlier = self.unset(&key);
        for name in names(&key, &record) {
            self.named.entry(name).or_default().insert(key.clone());
        }
        if let Record::Grant(_, grant) = &record {
            self.newest_grant = self.newest_grant.max(grant.version.0);
        }
        self.records.entry(key.kind()).or_default().insert(key, record);
        if earlier == Tally::NOTHING { Tally::ADDED } else { Tally::CHANGED }
    }

    /// Like [`remove`](Self::remove), without a note.
    pub(crate) fn unset(&mut self, key: &Key) -> Tally {
        let Some(record) = self.records.get_mut(&key.kind()).and_then(|table| table.remove(key)) else {
            return Tally::NOTHING;
        };
        for name in names(key, &record) {
            if let Some(keys) = self.named.get_mut(&name) {
                keys.remove(key);
                if keys.is_empty() {
                    self.named.remove(&name);
                }
            }
        }
        if let Key::Grant(user) = key {
            self.claims.remove(user);
        }
        Tally::REMOVED
    }

    pub(crate) fn has_guild(&self, guild: GuildId) -> bool {
        self.get(&Key::Guild(guild)).is_some()
    }

    /// Returns those of the guilds that are known, with the user's roles in each.
    pub(crate) fn with_roles(&self, user: UserId, guilds: &[GuildId]) -> Vec<GuildWithRoles> {
        let ids: BTreeSet<_> = guilds.iter().copied().collect();
        let known = ids.into_iter().filter_map(|guild| self.content::<Guild>(&Key::Guild(guild)));
        let with_roles = |guild: &Guild| {
            let member = self.content::<Member>(&Key::Member(guild.id, user));
            let roles = member.map(|member| member.roles.clone()).unwrap_or_default();
            GuildWithRoles { guild: Arc::new(guild.clone()), roles: Arc::new(roles) }
        };
        known.map(with_roles).collect()
    }

    pub(crate) fn session(&self, id: &TokenHash) -> Option<&Session> {
        self.content(&Key::Session(*id))
    }

    /// Returns the sessions of a user, oldest first.
    pub(crate) fn sessions_of(&self, user: UserId) -> Vec<Session> {
        let records = self.naming(Named::User(user)).filter_map(|key| self.content(key));
        let mut sessions: Vec<Session> = records.cloned().collect();
        sessions.sort_unstable_by_key(|session| (session.created_at, session.id));
        sessions
    }

    pub(crate) fn grant(&self, user: UserId) -> Option<&Grant> {
        self.content(&Key::Grant(user))
    }

    /// Returns whether a grant still has this version.
    pub(crate) fn has_grant(&self, user: UserId, version: GrantVersion) -> bool {
        self.grant(user).is_some_and(|grant| grant.version == version)
    }

    /// Returns a version higher than every earlier one.
    pub(crate) const fn next_grant(&self) -> GrantVersion {
        GrantVersion(self.newest_grant.saturating_add(1))
    }

    pub(crate) fn listing(&self, user: UserId, asked: ListingScope) -> Listing {
        let grant = self.grant(user).cloned().map(GrantSummary::from);
        let asked = asked.guilds(grant.as_ref());
        let premium: BTreeSet<_> =
            asked.iter().flat_map(|guild| self.naming(Named::Premium(*guild))).collect();
        let subscription = |key: &Key| self.content::<Subscription>(key).cloned().map(Arc::new);
        Listing {
            blocked: self.get(&Key::Blocked(user)).is_some(),
            guilds: self.with_roles(user, &asked),
            guild_subscriptions: premium.into_iter().filter_map(subscription).collect(),
            subscription: subscription(&Key::Subscription(user)),
            staff: self.content(&Key::Staff(user)).copied().unwrap_or_default(),
            grant,
            memo: Memo::default(),
        }
    }
}
