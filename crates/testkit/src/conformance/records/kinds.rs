//! What the suites know of each kind: samples, a table of those with a key, and whose a record is.

use super::common::{by_key, put_all};
use crate::{
    conformance::{
        Stores,
        sample::{
            AWKWARD, at, awkward_names, awkward_prose, feedback, grant, guild, guild_id, member, name,
            notice, outline, period, prose, session, settings_entry, settings_schema, staff, stars,
            stored_settings, subscription, team_member, user_id,
        },
    },
    world::roles,
};
use companion_domain::{
    change::Key,
    model::{
        ChannelKind, Entries, Feedback, Guild, Member, MemberCount, Notice, NoticeKind, Outline,
        OutlineEntry, PeriodSubject, RoleBindings, RoleId, RoleKey, RoleSet, Slots, StaffPermission,
        Timestamp, UserId,
    },
    port::{Grant, GrantVersion, Record},
};

/// A kind of record that is put, found and removed by its key.
pub(in crate::conformance) struct KeyedKind {
    /// Returns a record with the key of this number.
    record: fn(u64) -> Record,
    /// Returns records with the key of this number, each differing in one field from the previous one, the first from
    /// `record`. They may be large.
    changed: fn(u64) -> Vec<Record>,
    /// Records of different keys that a careless adapter corrupts or confuses.
    pub(super) awkward: fn() -> Vec<Record>,
}

impl KeyedKind {
    pub(super) fn name(&self) -> &'static str {
        self.key(1).kind().event()
    }

    pub(super) fn record(&self, number: u64) -> Record {
        (self.record)(number)
    }

    /// Returns `record` and all its changes.
    pub(in crate::conformance) fn variants(&self, number: u64) -> Vec<Record> {
        let mut all = (self.changed)(number);
        all.insert(0, self.record(number));
        all
    }

    pub(in crate::conformance) fn key(&self, number: u64) -> Key {
        self.record(number).key()
    }

    /// Returns what is found under the key of this number if nothing was put.
    pub(super) fn absent(&self, number: u64) -> Option<Record> {
        match self.key(number) {
            Key::Member(guild, user) => Some(Record::Member(member(guild, user, &[]))),
            _ => None,
        }
    }

    /// Returns the guilds that must be stored before the records of these numbers.
    pub(super) fn needed(&self, numbers: impl IntoIterator<Item = u64>) -> Vec<Record> {
        let home = |number| Some(Record::Guild(guild(self.key(number).guild()?)));
        by_key(numbers.into_iter().filter_map(home).collect()).into_values().collect()
    }

    /// Stores what the records of these numbers need.
    pub(in crate::conformance) async fn prepare(
        &self,
        stores: &Stores,
        numbers: impl IntoIterator<Item = u64>,
    ) {
        put_all(stores, self.needed(numbers)).await;
    }
}

fn nothing() -> Vec<Record> {
    Vec::new()
}

/// The guild of all members.
const HOME: u64 = 77;

pub(in crate::conformance) const KEYED: [KeyedKind; 8] = [
    KeyedKind {
        record: |number| Record::Guild(guild(guild_id(number))),
        changed: guilds,
        awkward: || {
            let named = (5000..).zip(awkward_names()).map(|(id, name)| Guild { name, ..guild(guild_id(id)) });
            named.map(Record::Guild).collect()
        },
    },
    KeyedKind {
        record: |number| Record::Member(member(guild_id(HOME), user_id(number), &[1, 2])),
        changed: members,
        awkward: nothing,
    },
    KeyedKind {
        record: |number| Record::Subscription(subscription(user_id(number), [3, 1, 2], 3)),
        changed: subscriptions,
        awkward: nothing,
    },
    KeyedKind {
        record: |number| Record::Staff(user_id(number), staff(StaffPermission::ALL.iter().copied().take(1))),
        changed: |number| {
            let one = StaffPermission::ALL.iter().skip(1).map(|grant| staff([*grant]));
            let more = [
                staff([]),
                staff([StaffPermission::Support, StaffPermission::Founder]),
                staff(StaffPermission::ALL.iter().copied()),
            ];
            one.chain(more).map(|grants| Record::Staff(user_id(number), grants)).collect()
        },
        awkward: nothing,
    },
    KeyedKind { record: |number| Record::Blocked(user_id(number)), changed: |_| nothing(), awkward: nothing },
    KeyedKind {
        record: |number| Record::Outline(outline(guild_id(number))),
        changed: outlines,
        awkward: nothing,
    },
    KeyedKind {
        record: |number| Record::Notice(notice(&format!("n{number}"))),
        changed: notices,
        awkward: nothing,
    },
    KeyedKind {
        record: |number| Record::Feedback(entry(number)),
        changed: entries,
        awkward: awkward_entries,
    },
];

/// Returns two records of every kind, but one schema, with every member in guild 1, each kind in key order.
pub(in crate::conformance) fn two_of_each() -> Vec<Record> {
    let granted = |version, number| Grant { version: GrantVersion(version), content: grant(number) };
    vec![
        Record::Guild(guild(guild_id(1))),
        Record::Guild(guild(guild_id(2))),
        Record::Member(member(guild_id(1), user_id(1), &[1, 2])),
        Record::Member(member(guild_id(1), user_id(2), &[3])),
        Record::Subscription(subscription(user_id(1), [1, 2], 3)),
        Record::Subscription(subscription(user_id(2), [], 1)),
        Record::Staff(user_id(1), staff([StaffPermission::Support])),
        Record::Staff(user_id(2), staff([StaffPermission::Founder, StaffPermission::Docwriter])),
        Record::Blocked(user_id(8)),
        Record::Blocked(user_id(9)),
        Record::Feedback(feedback("one", 5, user_id(1))),
        Record::Feedback(feedback("two", 2, user_id(2))),
        Record::Team(team_member(user_id(1), "Core", 1)),
        Record::Team(team_member(user_id(2), "Core", 2)),
        Record::Outline(outline(guild_id(1))),
        Record::Outline(outline(guild_id(2))),
        Record::Schema(settings_schema()),
        Record::Settings(guild_id(1), stored_settings(1)),
        Record::Settings(guild_id(2), stored_settings(2)),
        Record::SettingsEdit(settings_entry(guild_id(1), 1)),
        Record::SettingsEdit(settings_entry(guild_id(2), 2)),
        Record::Notice(notice("one")),
        Record::Notice(notice("two")),
        Record::Period(period(PeriodSubject::Silent, at(1))),
        Record::Period(period(PeriodSubject::Silent, at(2))),
        Record::Session(session(1, user_id(1), at(1))),
        Record::Session(session(2, user_id(2), at(2))),
        Record::Grant(user_id(1), granted(7, 1)),
        Record::Grant(user_id(2), granted(3, 2)),
    ]
}

/// Whether forgetting a user removes this record.
pub(in crate::conformance) fn is_of(user: UserId, record: &Record) -> bool {
    match record {
        Record::Member(member) => member.user == user,
        Record::Subscription(subscription) => subscription.user == user,
        Record::Staff(of, _) | Record::Grant(of, _) => *of == user,
        Record::Feedback(feedback) => feedback.submitter.id == user,
        Record::Session(session) => session.user == user,
        // The guild that a user owns is the bot's data.
        Record::Guild(_)
        | Record::Outline(_)
        | Record::Blocked(_)
        | Record::Team(_)
        // Forgetting changes the history of settings, and removes none of it.
        | Record::Schema(_)
        | Record::Settings(..)
        | Record::SettingsEdit(_)
        | Record::Notice(_)
        | Record::Period(_) => false,
    }
}

fn members(number: u64) -> Vec<Record> {
    let many = (0..500).map(|role| RoleId::new(u64::MAX - role * 1_000_003).unwrap()).collect();
    let sets = [roles(&[2, 3]), roles(&[9]), RoleSet::new(many).unwrap()];
    let of = |roles| Record::Member(Member { roles, ..member(guild_id(HOME), user_id(number), &[]) });
    sets.map(of).to_vec()
}

fn subscriptions(number: u64) -> Vec<Record> {
    let long: Vec<_> = (1..=1000).map(|number| number * 7_919 % 1009).collect();
    let of = |guilds: &[u64], slots| {
        Record::Subscription(subscription(user_id(number), guilds.iter().copied(), slots))
    };
    vec![
        of(&[2, 1, 3], 3),
        of(&[2, 1, 3], 5),
        of(&[], 5),
        of(&[], Slots::MAX.into()),
        of(&[7], 0),
        of(&long, 1000),
    ]
}

/// Returns the changes of a guild, one field at a time.
fn guilds(number: u64) -> Vec<Record> {
    let all_bound = |key: &RoleKey| (*key, roles(&(1..=400).chain([u64::MAX]).collect::<Vec<_>>()));
    let changes: [&dyn Fn(&mut Guild); 12] = [
        &|guild| guild.name = name("Renamed"),
        &|guild| guild.name = name("renamed"),
        &|guild| guild.icon = None,
        &|guild| guild.icon = Some("https://pictures.example/%F0%9F%A6%80.png?a=1&b=2#c".parse().unwrap()),
        &|guild| guild.members = MemberCount::new(0).unwrap(),
        &|guild| guild.members = MemberCount::new(MemberCount::MAX.into()).unwrap(),
        &|guild| guild.owner = user_id(u64::MAX),
        &|guild| guild.setup = !guild.setup,
        &|guild| guild.linked = !guild.linked,
        &|guild| guild.bindings = RoleBindings::new([(RoleKey::ErlcStaff, roles(&[4]))]),
        &|guild| guild.bindings = RoleBindings::new(RoleKey::ALL.iter().map(all_bound)),
        &|guild| guild.bindings = RoleBindings::default(),
    ];
    changed(guild(guild_id(number)), &changes, Record::Guild)
}

/// Returns an outline that changes in one field at a time.
fn outlines(number: u64) -> Vec<Record> {
    let changes: [&dyn Fn(&mut Outline); 6] = [
        &|outline| {
            outline.channels = renamed(&outline.channels, |channel| channel.name = AWKWARD.parse().unwrap());
        },
        &|outline| outline.channels = renamed(&outline.channels, |channel| channel.kind = ChannelKind::Forum),
        &|outline| outline.channels = Entries::new(Vec::new()).unwrap(),
        &|outline| outline.roles = renamed(&outline.roles, |role| role.colour = None),
        &|outline| outline.roles = renamed(&outline.roles, |role| role.name = "".parse().unwrap()),
        &|outline| outline.roles = Entries::new(Vec::new()).unwrap(),
    ];
    changed(outline(guild_id(number)), &changes, Record::Outline)
}

fn renamed<T: OutlineEntry + Clone>(entries: &Entries<T>, change: impl Fn(&mut T)) -> Entries<T> {
    let mut entries = entries.as_slice().to_vec();
    entries.iter_mut().for_each(change);
    Entries::new(entries).unwrap()
}

/// Returns the changes of a notice, one field at a time.
fn notices(number: u64) -> Vec<Record> {
    let changes: [&dyn Fn(&mut Notice); 6] = [
        &|notice| notice.kind = NoticeKind::News,
        &|notice| notice.title = AWKWARD.parse().unwrap(),
        &|notice| notice.text = AWKWARD.parse().unwrap(),
        &|notice| notice.text = "".parse().unwrap(),
        &|notice| notice.from = Timestamp::from_micros(1),
        &|notice| notice.until = None,
    ];
    changed(notice(&format!("n{number}")), &changes, Record::Notice)
}

fn entry(number: u64) -> Feedback {
    feedback(&format!("f{number}"), 5, user_id(1))
}

/// Returns the changes of a feedback entry, one field at a time.
fn entries(number: u64) -> Vec<Record> {
    let changes: [&dyn Fn(&mut Feedback); 9] = [
        &|entry| entry.text = prose("Other words"),
        &|entry| entry.text = prose(""),
        &|entry| entry.rating = stars(2),
        &|entry| entry.rating = stars(4),
        &|entry| entry.submitted_at = Timestamp::from_micros(1_700_000_000_123_457),
        &|entry| entry.submitter.id = user_id(u64::MAX),
        &|entry| entry.submitter.username = name(AWKWARD),
        &|entry| entry.submitter.name = name(AWKWARD),
        &|entry| entry.submitter.avatar = "https://pictures.example/new.png".parse().unwrap(),
    ];
    changed(entry(number), &changes, Record::Feedback)
}

fn changed<T: Clone>(mut value: T, changes: &[&dyn Fn(&mut T)], record: fn(T) -> Record) -> Vec<Record> {
    let next = |change: &&dyn Fn(&mut T)| {
        change(&mut value);
        record(value.clone())
    };
    changes.iter().map(next).collect()
}

fn awkward_entries() -> Vec<Record> {
    let ids = ["A_", "a", "a-", "a_", "a_b", "ab", "0", "00"];
    let ids = ids.into_iter().map(|id| feedback(id, 5, user_id(1)));
    let said = (0..).zip(awkward_prose()).map(|(number, text)| Feedback {
        text,
        submitted_at: Timestamp::from_micros(1_700_000_000_123_457 + number),
        ..feedback(&format!("text-{number}"), 5, user_id(1))
    });
    // All of one user, each with another name.
    let named = (0..).zip(awkward_names()).map(|(number, awkward)| {
        let mut entry = feedback(&format!("name-{number}"), 4, user_id(1));
        entry.submitter.username = awkward.clone();
        entry.submitter.name = awkward;
        entry
    });
    ids.chain(said).chain(named).map(Record::Feedback).collect()
}
