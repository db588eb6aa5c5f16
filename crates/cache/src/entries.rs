//! All entries of one process. Readers never wait for the mutex that serialises writers.

use crate::{
    entry::{ENTRY, ListingEntry, Put, weigh_session},
    guilds::{SharedGuilds, guilds_of, sharing},
    key::{ChangeLog, Invalidation, Key},
};
use companion_domain::{
    change::{Kind, Revision},
    model::{GuildId, Timestamp, UserId},
    port::Listing,
    session::{Session, TokenHash},
};
use foldhash::fast::RandomState;
use quick_cache::{
    Weighter,
    sync::{Cache, EntryAction},
};
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    hash::Hash,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{
            AtomicU64,
            Ordering::{Acquire, Relaxed},
        },
    },
    time::Duration,
};

/// Cached sessions, listings and guilds.
pub(crate) struct Entries {
    sessions: Table<TokenHash, Session>,
    /// Ids without a session. A table of its own, so that no number of dead tokens evicts live sessions.
    absent: Table<TokenHash, ()>,
    listings: Table<UserId, Arc<ListingEntry>>,
    /// Number of changes of shared guilds, counted by their owner.
    guild_changes: Arc<AtomicU64>,
    /// Locked by writers only.
    state: Mutex<EntriesState>,
    /// Number of sessions and of listings read from the store.
    pub(crate) session_loads: AtomicU64,
    pub(crate) listing_loads: AtomicU64,
}

type Table<K, V> = Cache<K, V, Weight, RandomState>;

/// Creates a table of up to this many bytes.
fn table<K: Eq + Hash, V: Clone>(bytes: u64) -> Table<K, V>
where
    Weight: Weighter<K, V>,
{
    // Expected number of entries, from which the number of shards follows. An entry takes about 256 bytes.
    let expected = usize::try_from(bytes / 256).unwrap_or(usize::MAX).max(64);
    Cache::with(expected, bytes, Weight, RandomState::default(), Default::default())
}

#[derive(Default)]
struct EntriesState {
    change_log: ChangeLog,
    guilds: SharedGuilds,
    /// The guilds whose entries depend on a user's subscription.
    guilds_by_subscriber: HashMap<UserId, HashSet<GuildId>>,
    /// Number of listings that were loaded.
    loads: u64,
    /// Guilds that this process has put, by the revisions of changes that are not applied yet.
    puts: BTreeMap<Revision, Put>,
}

impl Entries {
    /// Creates tables of up to this many bytes. An eighth is for sessions and 1/128 for absent ids. The rest is for listings,
    /// which are larger, and for the guilds that they share.
    pub(crate) fn new(memory: u64) -> Self {
        let (sessions, absent, state) = (memory / 8, memory / 128, EntriesState::default());
        Self {
            sessions: table(sessions),
            absent: table(absent),
            listings: table(memory - sessions - absent),
            guild_changes: Arc::clone(&state.guilds.changes),
            state: Mutex::new(state),
            session_loads: AtomicU64::new(0),
            listing_loads: AtomicU64::new(0),
        }
    }

    fn state(&self) -> MutexGuard<'_, EntriesState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the position in the change log. A load takes it before it begins.
    pub(crate) fn position(&self) -> u64 {
        self.state().change_log.position()
    }

    /// Invalidates the entries of these keys, and loads of them that are in flight.
    pub(crate) fn invalidate(&self, keys: impl IntoIterator<Item = Key>) {
        let mut state = self.state();
        for key in keys {
            state.change_log.record(Invalidation::Key(key));
            match key {
                Key::Session(id) => {
                    self.sessions.remove(&id);
                    self.absent.remove(&id);
                }
                Key::User(user) => drop(self.listings.remove(&user)),
                Key::Guild(guild) => state.guilds.drop_one(guild),
                Key::Subscriber(user) => {
                    self.listings.remove(&user);
                    for guild in state.guilds_by_subscriber.remove(&user).into_iter().flatten() {
                        state.guilds.drop_one(guild);
                    }
                }
            }
        }
    }

    /// Invalidates everything that depends on this kind, and loads that are in flight.
    pub(crate) fn invalidate_kind(&self, kind: Kind) {
        let mut state = self.state();
        state.change_log.record(Invalidation::Every(kind));
        if kind == Kind::Session {
            self.sessions.clear();
            self.absent.clear();
        }
        if kind.is_listed() {
            state.guilds_by_subscriber.clear();
            self.listings.clear();
            state.guilds.drop_all();
        }
    }

    /// Returns the number of listings that were loaded so far.
    pub(crate) fn loads(&self) -> u64 {
        self.state().loads
    }

    /// Notes guilds that this process has put, by the revisions of changes that are still to be received.
    pub(crate) fn note_puts(&self, puts: impl IntoIterator<Item = (Revision, Put)>) {
        self.state().puts.extend(puts);
    }

    /// Applies changes of guilds: shows those that this process has put, and invalidates the others.
    pub(crate) fn change_guilds(&self, changes: &[(GuildId, Revision)]) {
        let mut state = self.state();
        for (guild, revision) in changes {
            state.change_log.record(Invalidation::Key(Key::Guild(*guild)));
            match state.puts.remove(revision) {
                Some(put) => state.guilds.put(*guild, put),
                None => state.guilds.drop_one(*guild),
            }
        }
        if let Some((_, last)) = changes.last() {
            // Earlier ones were received before they were noted, or summarised.
            state.puts = state.puts.split_off(last);
        }
    }

    /// Returns the cached session, if any.
    pub(crate) fn session(&self, id: &TokenHash) -> Option<Session> {
        self.sessions.get(id)
    }

    /// Returns whether this id is known to have no session. `false` means not cached, not present.
    pub(crate) fn is_absent(&self, id: &TokenHash) -> bool {
        self.absent.get(id).is_some()
    }

    /// Inserts the result of a session load that began at `position`, unless a change has invalidated it.
    pub(crate) fn insert_session(&self, id: &TokenHash, found: Option<&Session>, position: u64) {
        let state = self.state();
        let concerns = |key: &Key| *key == Key::Session(*id);
        if state.change_log.has_invalidated_since(position, concerns, |kind| kind == Kind::Session) {
            return;
        }
        match found {
            Some(session) => self.sessions.insert(*id, session.clone()),
            None => self.absent.insert(*id, ()),
        }
    }

    /// Moves the last use of a cached session forward. Does nothing if the session is not cached.
    pub(crate) fn touch_session(&self, id: &TokenHash, seen: Timestamp) {
        drop(self.sessions.entry(id, Some(Duration::ZERO), |_, session| {
            session.last_seen_at = session.last_seen_at.max(seen);
            EntryAction::Retain(())
        }));
    }

    /// Returns the cached listing of a user if none of its parts has been invalidated.
    pub(crate) fn listing(&self, user: UserId) -> Option<Arc<Listing>> {
        let changes = self.guild_changes.load(Acquire);
        let entry = self.listings.get(&user).filter(|entry| entry.is_current(changes))?;
        Some(Arc::clone(&entry.listing))
    }

    /// Returns the cached listing of a user over the replaced guilds. `None` if it has to be read, because another part has
    /// changed too.
    pub(crate) fn renewed_listing(&self, user: UserId) -> Option<Arc<Listing>> {
        let _state = self.state();
        let entry = self.listings.peek(&user)?;
        let guilds = entry.guilds()?;
        let listing = Arc::new(sharing(&entry.listing, &guilds));
        self.listings.insert(user, Arc::new(ListingEntry::new(Arc::clone(&listing), guilds)));
        Some(listing)
    }

    /// Inserts a listing whose load began at `position`, unless a change has invalidated it. Returns the listing to
    /// answer with. If it was inserted, that one shares its guilds with other entries.
    pub(crate) fn insert_listing(&self, user: UserId, listing: Arc<Listing>, position: u64) -> Arc<Listing> {
        // Not cached without a grant or a list: the user is about to be signed out, or the list is about to be fetched.
        if listing.list().is_none() {
            return listing;
        }
        let guilds = guilds_of(&listing);
        let names = |user| listing.guild_subscriptions.iter().any(|subscription| subscription.user == user);
        let concerns = |key: &Key| match *key {
            Key::User(changed) => changed == user,
            Key::Subscriber(changed) => changed == user || names(changed),
            Key::Guild(changed) => guilds.binary_search_by_key(&changed, |guild| guild.id).is_ok(),
            Key::Session(_) => false,
        };
        let mut state = self.state();
        if state.change_log.has_invalidated_since(position, concerns, Kind::is_listed) {
            return listing;
        }
        state.loads += 1;
        let load = state.loads;
        let guilds: Box<[_]> = guilds.into_iter().map(|guild| state.guilds.share(guild, load)).collect();
        for guild in &guilds {
            for subscription in &guild.guild_subscriptions {
                state.guilds_by_subscriber.entry(subscription.user).or_default().insert(guild.id);
            }
        }
        let listing = Arc::new(sharing(&listing, &guilds));
        self.listings.insert(user, Arc::new(ListingEntry::new(Arc::clone(&listing), guilds)));
        listing
    }

    pub(crate) fn statistics(&self) -> [CacheStatistics; 3] {
        let Self { sessions, listings, .. } = self;
        let guilds = self.state().guilds.statistics();
        let of = |name, entries: usize, bytes, hits, loads: &AtomicU64| {
            let (entries, misses) = (entries as u64, loads.load(Relaxed));
            CacheStatistics { name, entries, bytes, hits, misses }
        };
        [
            of("sessions", sessions.len(), sessions.weight(), sessions.hits(), &self.session_loads),
            of("listings", listings.len(), listings.weight(), listings.hits(), &self.listing_loads),
            guilds,
        ]
    }
}

#[derive(Clone)]
struct Weight;

impl Weighter<TokenHash, Session> for Weight {
    fn weight(&self, _: &TokenHash, session: &Session) -> u64 {
        weigh_session(session) as u64
    }
}

impl Weighter<TokenHash, ()> for Weight {
    fn weight(&self, _: &TokenHash, (): &()) -> u64 {
        (size_of::<TokenHash>() + ENTRY) as u64
    }
}

impl Weighter<UserId, Arc<ListingEntry>> for Weight {
    fn weight(&self, _: &UserId, entry: &Arc<ListingEntry>) -> u64 {
        entry.weight as u64
    }
}

/// Size and hit counts of one kind of entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheStatistics {
    /// The kind of entry.
    pub name: &'static str,
    /// Number of entries.
    pub entries: u64,
    /// Approximate memory use, in bytes.
    pub bytes: u64,
    /// Cache hits.
    pub hits: u64,
    /// Cache misses. A lookup that is followed by a load counts once.
    pub misses: u64,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use companion_domain::{
        model::{Guild, GuildList, GuildWithRoles, MemberCount},
        port::{GrantSummary, GrantVersion},
    };
    use companion_testkit::world::{a_guild, a_session, a_subscription, an_ownership, at, guild_id, user_id};

    pub(crate) fn entries() -> Entries {
        Entries::new(1 << 20)
    }

    fn insert(entries: &Entries, session: &Session, position: u64) {
        entries.insert_session(&session.id, Some(session), position);
    }

    /// Returns the listing of a user who owns these guilds.
    pub(crate) fn a_listing<const N: usize>(guilds: [u64; N]) -> Arc<Listing> {
        let memberships = guilds.map(an_ownership).to_vec().into();
        let list = GuildList { memberships, without_bot: Vec::new(), fetched_at: at(1) };
        let grant =
            GrantSummary { version: GrantVersion(1), renewable: false, list: Some(list), profile: None };
        Arc::new(Listing { grant: Some(grant), ..Listing::default() })
    }

    #[test]
    fn renews_a_listing_over_puts_unless_more_has_changed() {
        let user = user_id(1);
        let version = |number| Guild { members: MemberCount::new(number).unwrap(), ..a_guild(1) };
        for (event, expected) in [("none", Some(2)), ("another guild", None), ("a later change", None)] {
            let entries = entries();
            let seen = GuildWithRoles { guild: Arc::new(version(1)), roles: Arc::default() };
            let listing = Listing { guilds: vec![seen], ..(*a_listing([1, 2])).clone() };
            entries.insert_listing(user, Arc::new(listing), entries.position());
            let put = Put { guild: Arc::new(version(2)), loads: entries.loads() };
            entries.note_puts([(Revision(7), put)]);
            assert!(entries.listing(user).is_some());
            match event {
                "another guild" => entries.invalidate([Key::Guild(guild_id(2))]),
                "a later change" => entries.change_guilds(&[(guild_id(9), Revision(8))]),
                _ => {}
            }
            entries.change_guilds(&[(guild_id(1), Revision(7))]);
            assert_eq!(entries.listing(user), None, "{event}");
            let shown = entries.renewed_listing(user);
            let members = |listing: &Listing| listing.guilds[0].guild.members.get();
            assert_eq!(shown.as_deref().map(members), expected, "{event}");
            assert_eq!(entries.listing(user), shown, "{event}");
        }
    }

    #[test]
    fn invalidates_all_sessions_and_all_session_loads() {
        let (entries, kept, loaded) = (entries(), a_session(1, 1, at(1)), a_session(2, 1, at(1)));
        let position = entries.position();
        insert(&entries, &kept, position);
        entries.invalidate_kind(Kind::Session);
        insert(&entries, &loaded, position);
        assert_eq!((entries.session(&kept.id), entries.session(&loaded.id)), (None, None));
        insert(&entries, &loaded, entries.position());
        assert_eq!(entries.session(&loaded.id), Some(loaded));
    }

    #[test]
    fn touching_moves_forward_and_inserts_no_session() {
        let (entries, session) = (entries(), a_session(1, 1, at(5)));
        entries.touch_session(&session.id, at(9));
        assert_eq!(entries.session(&session.id), None);
        insert(&entries, &session, entries.position());
        for (seen, shown) in [(9, 9), (7, 9), (11, 11)] {
            entries.touch_session(&session.id, at(seen));
            assert_eq!(entries.session(&session.id).unwrap().last_seen_at, at(shown));
        }
    }

    #[test]
    fn skips_a_listing_that_was_invalidated_while_loading() {
        // Another user's subscription names the user's only guild.
        let listing = Listing {
            guild_subscriptions: vec![Arc::new(a_subscription(2, &[1]))],
            ..(*a_listing([1])).clone()
        };
        let is_kept_after = |key: Key| {
            let entries = entries();
            let position = entries.position();
            entries.invalidate([key]);
            entries.insert_listing(user_id(1), Arc::new(listing.clone()), position);
            entries.listing(user_id(1)).is_some()
        };
        for of_it in [
            Key::User(user_id(1)),
            Key::Guild(guild_id(1)),
            Key::Subscriber(user_id(1)),
            Key::Subscriber(user_id(2)),
        ] {
            assert!(!is_kept_after(of_it), "{of_it:?}");
        }
        for of_others in [
            Key::User(user_id(2)),
            Key::Guild(guild_id(2)),
            Key::Subscriber(user_id(3)),
            Key::Session(TokenHash::from_bytes([1; 32])),
        ] {
            assert!(is_kept_after(of_others), "{of_others:?}");
        }
    }

    #[test]
    fn keeps_within_its_memory() {
        const MEMORY: u64 = 64 << 10;
        let entries = Entries::new(MEMORY);
        let mut absent = Vec::new();
        for number in 1..=2000_u64 {
            let mut id = [0; 32];
            id[..8].copy_from_slice(&number.to_le_bytes());
            let session = Session { id: TokenHash::from_bytes(id), ..a_session(1, 1, at(1)) };
            insert(&entries, &session, entries.position());
            let id = TokenHash::from_bytes(id.map(|byte| !byte));
            entries.insert_session(&id, None, entries.position());
            absent.push(id);
            entries.insert_listing(user_id(number), a_listing([number]), entries.position());
        }
        let [sessions, listings, _] = entries.statistics();
        assert!(sessions.bytes <= MEMORY / 8 && sessions.entries < 1000, "{sessions:?}");
        assert!(listings.bytes <= MEMORY * 111 / 128 && listings.entries < 1000, "{listings:?}");
        let absent = absent.iter().filter(|id| entries.is_absent(id)).count() as u64;
        assert!(absent > 0 && absent * size_of::<TokenHash>() as u64 <= MEMORY / 128, "{absent}");
    }

    #[test]
    fn shares_subscriptions_without_changing_listings() {
        let entries = entries();
        let named_twice = || {
            let guild_subscriptions = [2, 3].map(|user| Arc::new(a_subscription(user, &[1]))).to_vec();
            Listing { guild_subscriptions, ..(*a_listing([1])).clone() }
        };
        let [one, other] = [1, 2]
            .map(|user| entries.insert_listing(user_id(user), Arc::new(named_twice()), entries.position()));
        assert_eq!((&*one, &*other), (&named_twice(), &named_twice()));
        assert!(
            one.guild_subscriptions
                .iter()
                .zip(&other.guild_subscriptions)
                .all(|(one, other)| Arc::ptr_eq(one, other))
        );
    }
}
