//! Sample values for stores, beyond those of [`world`](crate::world).

pub(super) use crate::world::{NONE_ENDED, guild_id, name, user_id};

use crate::world::{a_feedback, a_guild, a_heartbeat, a_member, a_team_member, a_user, roles};
use companion_domain::{
    model::{
        ChannelId, ChannelKind, ClusterId, Entries, Feedback, FeedbackId, Guild, GuildId, GuildList,
        Heartbeat, Member, Membership, Name, NamedGuild, Notice, NoticeKind, Number, Outline, OutlineChannel,
        OutlineRole, Period, PeriodSubject, PlatformPermissions, Profile, Prose, Rating, RoleBindings,
        RoleId, RoleKey, Shard, ShardId, Shards, Slots, StaffPermission, StaffPermissions, SubscribedGuilds,
        Subscription, TeamMember, Timestamp, UserId,
    },
    policy::Permission,
    port::{GrantContent, Sealed},
    session::{Session, TokenHash, UserAgent},
    settings::{
        Bounds, ChangedField, Edit, Field, FieldType, HistoryEntry, Many, Origin, Problem, Schema, Section,
        Stored, Value,
    },
};
use std::num::NonZeroU32;

/// The first id above the range of a signed 64-bit number.
pub(super) const BEYOND_SIGNED: u64 = 1 << 63;

/// The default cap of sessions.
pub(super) const TEN: NonZeroU32 = NonZeroU32::new(10).unwrap();

/// More than any page or batch.
pub(super) const LOTS: u64 = 1003;

/// Returns some numbers up to [`LOTS`], among them the last: enough to detect a reader that stops early, and faster
/// than all.
pub(super) fn some_of_lots() -> impl Iterator<Item = u64> {
    (1..=LOTS).filter(|number| number.is_multiple_of(17) || number + 5 > LOTS)
}

/// Text that is corrupted by code that counts bytes, supports only the basic plane, or builds SQL by hand.
pub(super) const AWKWARD: &str = "Zoë's \"café\" \\ 100 % _ 🦀👩‍👩‍👧‍👦 日本語 \u{202e}x\t;--";

/// Text that is changed by trimming, composing, folding, truncating, stripping, escaping or guessing.
const TEXTS: [&str; 14] = [
    AWKWARD,
    " ",
    "  a blank at each end ",
    "\u{3000}\u{a0}\ttabs and wide blanks\t\u{2003}",
    "two  blanks   in a row",
    "e\u{301} is two characters, \u{e9} is one",
    "\u{212b} ﬁ ǆ ß İ ı Σς",
    "\u{1}\u{8}\u{b}\u{1f}\u{7f}\u{85}control\u{feff}\u{200b}\u{ad}",
    "line\r\nline\rline\n",
    "100 % _ * ? [a-z] \\% \\_ \\\\",
    "'; DROP TABLE guilds; -- \" ` $1 ?1 {} {{x}} <b>&amp;</b>",
    "null",
    "007",
    "\u{10ffff}\u{fffd}",
];

/// Returns text of this many four-byte characters, and of combining sequences.
fn long_texts(length: usize) -> [String; 2] {
    ["🦀".repeat(length), "e\u{301}".repeat(length / 2)]
}

/// Returns names that a careless adapter corrupts, of all lengths.
pub(super) fn awkward_names() -> Vec<Name> {
    let long = long_texts(*Name::LENGTH.end());
    TEXTS.into_iter().chain(long.iter().map(String::as_str)).map(name).collect()
}

/// Like [`awkward_names`], for prose.
pub(super) fn awkward_prose() -> Vec<Prose> {
    let long = long_texts(*Prose::LENGTH.end());
    TEXTS.into_iter().chain([""]).chain(long.iter().map(String::as_str)).map(prose).collect()
}

/// Returns the `number`th guild of a shard, if there are more shards than that.
pub(super) fn guild_id_in(shard: u64, number: u64) -> GuildId {
    guild_id((shard << 22) + number)
}

/// Returns a time this many microseconds after a moment in 2023.
pub(super) const fn at(micros: i64) -> Timestamp {
    Timestamp::from_micros(1_700_000_000_000_000 + micros)
}

/// Returns a hash that neither sorts like the numbers nor shares a prefix.
pub(super) fn token_hash(number: u64) -> TokenHash {
    let mut bytes = [0; 32];
    let mixed = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    for (target, byte) in bytes.iter_mut().zip(mixed.to_be_bytes().into_iter().chain(number.to_be_bytes())) {
        *target = byte;
    }
    TokenHash::from_bytes(bytes)
}

pub(super) fn session(number: u64, user: UserId, created_at: Timestamp) -> Session {
    let user_agent = UserAgent::sent(&format!("Browser/{number} (as it was sent)"));
    Session { id: token_hash(number), user, created_at, last_seen_at: created_at, user_agent }
}

pub(super) fn guild(id: GuildId) -> Guild {
    let bindings = [(RoleKey::Mod, roles(&[1, 2])), (RoleKey::Admin, roles(&[3]))];
    Guild { bindings: RoleBindings::new(bindings), ..a_guild(id.get()) }
}

pub(super) fn member(guild: GuildId, user: UserId, numbers: &[u64]) -> Member {
    a_member(guild.get(), user.get(), numbers)
}

pub(super) fn outline(guild: GuildId) -> Outline {
    let channel = |number, kind| OutlineChannel {
        id: ChannelId::new(guild.get() % 1_000 + number).unwrap(),
        name: format!("channel-{number}").parse().unwrap(),
        kind,
    };
    let role = |number, colour: Option<&str>| OutlineRole {
        id: RoleId::new(number).unwrap(),
        name: format!("Role {number}").parse().unwrap(),
        colour: colour.map(|colour| colour.parse().unwrap()),
    };
    Outline {
        guild,
        channels: Entries::new(vec![channel(5, ChannelKind::Text), channel(4, ChannelKind::Voice)]).unwrap(),
        roles: Entries::new(vec![role(2, Some("#1ABC9C")), role(1, None)]).unwrap(),
    }
}

/// Returns a schema with a section for managers and a visible premium one, each with a text, a list and a number.
pub(super) fn settings_schema() -> Schema {
    let field = |key: &str, field_type, many| Field {
        key: key.parse().unwrap(),
        title: "A field".parse().unwrap(),
        description: None,
        field_type,
        many,
        default: None,
    };
    let text = || FieldType::Text { min_length: 0, max_length: FieldType::MAX_LENGTH, multiline: true };
    let section = |key: &str, plus| Section {
        key: key.parse().unwrap(),
        title: "A section".parse().unwrap(),
        description: Some(AWKWARD.parse().unwrap()),
        permission: Permission::ManageServer,
        plus,
        visible: plus,
        fields: vec![
            field("text", text(), None),
            field("list", text(), Some(Many { min: 0, max: 50 })),
            field("number", FieldType::Number(Bounds { min: Some(0.5), ..Bounds::default() }), None),
            field("on", FieldType::Boolean, None),
        ],
    };
    Schema::new(vec![section("free", false), section("plus", true)]).unwrap()
}

/// Returns settings at this revision, without a user.
pub(super) fn stored_settings(revision: u64) -> Stored {
    let values = [
        ("free.text", Value::Text(AWKWARD.into())),
        ("free.list", Value::List(TEXTS.map(Box::from).to_vec())),
        ("free.number", Value::Number(0.1 + 0.2)),
        ("old.on", Value::Boolean(true)),
    ];
    Stored {
        revision,
        values: values.into_iter().map(|(key, value)| (key.parse().unwrap(), value)).collect(),
        changed: Some(Edit { at: at(1), by: None, via: Origin::Bot }),
        applied: Some(revision),
        problems: vec![Problem { key: "free.text".parse().unwrap(), message: AWKWARD.parse().unwrap() }],
    }
}

/// Returns an entry of the history, without a user.
pub(super) fn settings_entry(guild: GuildId, revision: u64) -> HistoryEntry {
    let changes = vec![ChangedField {
        key: "free.number".parse().unwrap(),
        from: Some(Value::Text(AWKWARD.into())),
        to: None,
    }];
    HistoryEntry { guild, revision, edit: Edit { at: at(1), by: None, via: Origin::Api }, changes }
}

pub(super) fn subscription(user: UserId, guilds: impl IntoIterator<Item = u64>, slots: u64) -> Subscription {
    Subscription {
        user,
        guilds: SubscribedGuilds::new(guilds.into_iter().map(guild_id).collect()).unwrap(),
        slots: Slots::new(slots).unwrap(),
    }
}

pub(super) fn staff(grants: impl IntoIterator<Item = StaffPermission>) -> StaffPermissions {
    grants.into_iter().collect()
}

pub(super) fn feedback_id(text: &str) -> FeedbackId {
    text.parse().unwrap()
}

pub(super) fn prose(text: &str) -> Prose {
    text.parse().unwrap()
}

pub(super) fn stars(number: i64) -> Rating {
    Rating::new(number).unwrap()
}

pub(super) fn feedback(id: &str, rating: i64, submitter: UserId) -> Feedback {
    Feedback { submitter: a_user(submitter.get()), ..a_feedback(id, rating) }
}

pub(super) fn team_member(user: UserId, category: &str, position: i32) -> TeamMember {
    a_team_member(user.get(), category, position)
}

pub(super) fn cluster_id(text: &str) -> ClusterId {
    text.parse().unwrap()
}

pub(super) fn shards(ids: impl IntoIterator<Item = u32>) -> Shards {
    let shard = |id| Shard {
        heartbeat_sent: Number::Integer(1_700_000_000 + i64::from(id)),
        heartbeat_acknowledged: Number::fraction(1_700_000_000.25).unwrap(),
        latency: Number::fraction(0.1).unwrap(),
    };
    Shards::new(ids.into_iter().map(|id| (ShardId::new(id), shard(id))).collect()).unwrap()
}

pub(super) fn heartbeat(cluster: &str, received_at: Timestamp) -> Heartbeat {
    Heartbeat { shards: shards([0, 1]), ..a_heartbeat(cluster, received_at) }
}

/// Returns a name and a picture that identify a user.
pub(super) fn profile(number: u64) -> Profile {
    let avatar = format!("https://cdn.example/avatars/{number}.png").parse().unwrap();
    Profile { name: name(&format!("{AWKWARD} {number}")), avatar }
}

/// Returns a named guild that a number identifies. Even ones have an icon.
pub(super) fn named_guild(number: u64) -> NamedGuild {
    let icon = format!("https://cdn.example/icons/{number}.png").parse().unwrap();
    NamedGuild {
        guild: guild_id(number + 1),
        name: name(&format!("{AWKWARD} {number}")),
        icon: number.is_multiple_of(2).then_some(icon),
    }
}

pub(super) fn membership(guild: u64, owner: bool, bits: u64) -> Membership {
    Membership { guild: guild_id(guild), owner, permissions: PlatformPermissions::from_bits(bits) }
}

/// Returns a grant with a list of these guilds.
pub(super) fn listing(memberships: impl IntoIterator<Item = Membership>) -> GrantContent {
    let memberships = memberships.into_iter().collect();
    let list = GuildList { memberships, without_bot: Vec::new(), fetched_at: at(1) };
    GrantContent { list: Some(list), ..grant(1) }
}

/// Returns a grant whose tokens, list and profile all identify it.
pub(super) fn grant(number: u64) -> GrantContent {
    GrantContent {
        tokens: Some(Sealed::from_bytes(number.to_be_bytes().to_vec())),
        list: Some(GuildList {
            memberships: [membership(number + 1, number.is_multiple_of(2), number)].into(),
            without_bot: vec![named_guild(number)],
            fetched_at: at(i64::try_from(number).unwrap()),
        }),
        profile: Some(profile(number)),
    }
}

/// Returns an incident that has an end.
pub(super) fn notice(id: &str) -> Notice {
    Notice {
        id: id.parse().unwrap(),
        kind: NoticeKind::Incident,
        title: "Slow answers".parse().unwrap(),
        text: "Commands take up to a minute.".parse().unwrap(),
        from: at(100),
        until: Some(at(200)),
    }
}

/// Returns an open period.
pub(super) fn period(subject: PeriodSubject, began_at: Timestamp) -> Period {
    Period { reason: "The bot is silent".parse().ok(), ..Period::open(subject, began_at) }
}
