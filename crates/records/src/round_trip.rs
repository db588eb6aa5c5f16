//! Property tests: every record that is written can be read again.

use crate::{Accepted, Lines, schemas, write_line};
use companion_domain::{
    model::{
        ChannelId, ChannelKind, Entries, Feedback, FeedbackId, Guild, GuildId, GuildList, Label, Member,
        MemberCount, Membership, Name, NamedGuild, Outline, OutlineChannel, OutlineRole, PlatformPermissions,
        Profile, Prose, Rating, RoleBindings, RoleId, RoleKey, RoleSet, Slots, StaffPermission,
        SubscribedGuilds, Subscription, TeamMember, Timestamp, User, UserId, WebUrl,
    },
    port::{Grant, GrantContent, GrantVersion, Record, Sealed},
    session::{Session, TokenHash, UserAgent},
    settings::{self, ChangedField, Edit, HistoryEntry, Origin, Problem, SettingKey, Stored},
};
use jsonschema::Validator;
use proptest::{collection::vec, option, prelude::*, sample::select};
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::LazyLock};

fn user_id() -> impl Strategy<Value = UserId> {
    (1..=u64::MAX).prop_map(|id| UserId::new(id).unwrap())
}

fn guild_id() -> impl Strategy<Value = GuildId> {
    (1..=u64::MAX).prop_map(|id| GuildId::new(id).unwrap())
}

fn roles() -> impl Strategy<Value = RoleSet> {
    vec(1..=u64::MAX, 0..5)
        .prop_map(|ids| RoleSet::new(ids.into_iter().map(|id| RoleId::new(id).unwrap()).collect()).unwrap())
}

/// Text with all characters that JSON escapes, and all kinds of line ends.
fn any_text(length: std::ops::RangeInclusive<usize>) -> impl Strategy<Value = String> {
    let odd = select(vec!['\n', '\r', '"', '\\', '\u{1}', '\u{7f}', '\u{2028}', '\u{feff}', '🦉', '/']);
    let not_nul = any::<char>().prop_filter("NUL is refused", |character| *character != '\0');
    vec(prop_oneof![not_nul, odd], length).prop_map(|characters| characters.into_iter().collect())
}

fn name() -> impl Strategy<Value = Name> {
    any_text(1..=20).prop_map(|text| text.parse().unwrap())
}

fn web_url() -> impl Strategy<Value = WebUrl> {
    "https?://[a-z]{1,10}(/[!-~]{0,20})?".prop_map(|text| text.parse().unwrap())
}

fn user() -> impl Strategy<Value = User> {
    (user_id(), name(), name(), web_url()).prop_map(|(id, username, name, avatar)| User {
        id,
        username,
        name,
        avatar,
    })
}

fn seconds() -> impl Strategy<Value = Timestamp> {
    (0..=Timestamp::MAX_SECONDS).prop_map(|seconds| Timestamp::from_seconds(seconds).unwrap())
}

fn micros() -> impl Strategy<Value = Timestamp> {
    any::<i64>().prop_map(Timestamp::from_micros)
}

fn guild() -> impl Strategy<Value = Guild> {
    let bindings = vec((select(&RoleKey::ALL[..]), roles()), 0..6).prop_map(RoleBindings::new);
    let members = (0..=u64::from(MemberCount::MAX)).prop_map(|count| MemberCount::new(count).unwrap());
    let flags = (any::<bool>(), any::<bool>());
    (guild_id(), name(), option::of(web_url()), members, user_id(), flags, bindings).prop_map(
        |(id, name, icon, members, owner, (setup, linked), bindings)| Guild {
            id,
            name,
            icon,
            members,
            owner,
            setup,
            linked,
            bindings,
        },
    )
}

fn subscription() -> impl Strategy<Value = Subscription> {
    let slots = (0..=u64::from(Slots::MAX)).prop_map(|slots| Slots::new(slots).unwrap());
    (user_id(), vec(guild_id(), 0..5), slots).prop_map(|(user, guilds, slots)| Subscription {
        user,
        guilds: SubscribedGuilds::new(guilds).unwrap(),
        slots,
    })
}

fn feedback() -> impl Strategy<Value = Feedback> {
    let id = "[A-Za-z0-9_-]{1,64}".prop_map(|text| text.parse::<FeedbackId>().unwrap());
    let text = any_text(0..=50).prop_map(|text| text.parse::<Prose>().unwrap());
    (id, text, 1..=5_i64, seconds(), user()).prop_map(|(id, text, stars, submitted_at, submitter)| Feedback {
        id,
        text,
        rating: Rating::new(stars).unwrap(),
        submitted_at,
        submitter,
    })
}

fn team_member() -> impl Strategy<Value = TeamMember> {
    (user(), name(), "#[0-9A-Fa-f]{6}", name(), any::<i32>()).prop_map(
        |(user, role, color, category, position)| TeamMember {
            user,
            role,
            color: color.parse().unwrap(),
            category,
            position,
        },
    )
}

fn session() -> impl Strategy<Value = Session> {
    (any::<[u8; 32]>(), user_id(), micros(), micros(), any::<Option<String>>()).prop_map(
        |(id, user, created_at, last_seen_at, sent)| {
            let user_agent = sent.and_then(|sent| UserAgent::sent(&sent));
            Session { id: TokenHash::from_bytes(id), user, created_at, last_seen_at, user_agent }
        },
    )
}

fn grant() -> impl Strategy<Value = Grant> {
    let membership = (guild_id(), any::<bool>(), any::<u64>()).prop_map(|(guild, owner, bits)| Membership {
        guild,
        owner,
        permissions: PlatformPermissions::from_bits(bits),
    });
    let named = (guild_id(), name(), option::of(web_url())).prop_map(|(guild, name, icon)| NamedGuild {
        guild,
        name,
        icon,
    });
    let list = (vec(membership, 0..5), vec(named, 0..3), micros()).prop_map(
        |(memberships, without_bot, fetched_at)| GuildList {
            memberships: memberships.into(),
            without_bot,
            fetched_at,
        },
    );
    let tokens = vec(any::<u8>(), 0..50).prop_map(Sealed::from_bytes);
    let profile = (name(), web_url()).prop_map(|(name, avatar)| Profile { name, avatar });
    (any::<u64>(), option::of(tokens), option::of(list), option::of(profile)).prop_map(
        |(version, tokens, list, profile)| Grant {
            version: GrantVersion(version),
            content: GrantContent { tokens, list, profile },
        },
    )
}

fn outline() -> impl Strategy<Value = Outline> {
    let label = || any_text(Label::LENGTH).prop_filter_map("a label", |text| text.parse::<Label>().ok());
    let channel = (1..9_u64, label(), select(&ChannelKind::ALL[..]))
        .prop_map(|(id, name, kind)| OutlineChannel { id: ChannelId::new(id).unwrap(), name, kind });
    let role = (1..9_u64, label(), any::<bool>()).prop_map(|(id, name, has_colour)| OutlineRole {
        id: RoleId::new(id).unwrap(),
        name,
        colour: has_colour.then(|| "#1ABC9C".parse().unwrap()),
    });
    let channels = vec(channel, 0..3).prop_filter_map("distinct", |all| Entries::new(all).ok());
    let roles = vec(role, 0..3).prop_filter_map("distinct", |all| Entries::new(all).ok());
    (guild_id(), channels, roles).prop_map(|(guild, channels, roles)| Outline { guild, channels, roles })
}

fn edit() -> impl Strategy<Value = Edit> {
    let via = select(&[Origin::Site, Origin::Api, Origin::Bot][..]);
    (micros(), option::of(user_id()), via).prop_map(|(at, by, via)| Edit { at, by, via })
}

fn value() -> impl Strategy<Value = settings::Value> {
    prop_oneof![
        any::<bool>().prop_map(settings::Value::Boolean),
        any::<f64>().prop_filter_map("finite", settings::Value::number),
        any_text(0..=20).prop_map(|text| settings::Value::Text(text.into())),
        vec(any_text(0..=20).prop_map(Into::into), 0..3).prop_map(settings::Value::List),
    ]
}

fn setting_key() -> impl Strategy<Value = SettingKey> {
    "[a-z][a-z0-9_]{0,3}\\.[a-z][a-z0-9_]{0,3}".prop_map(|text| text.parse().unwrap())
}

fn stored() -> impl Strategy<Value = Stored> {
    let values = vec((setting_key(), value()), 0..4).prop_map(|values| values.into_iter().collect());
    let problem = (setting_key(), any_text(0..=40))
        .prop_filter_map("a message", |(key, text)| Some(Problem { key, message: text.parse().ok()? }));
    (any::<u64>(), values, option::of(edit()), option::of(any::<u64>()), vec(problem, 0..3)).prop_map(
        |(revision, values, changed, applied, problems)| Stored {
            revision,
            values,
            changed,
            applied,
            problems,
        },
    )
}

fn history_entry() -> impl Strategy<Value = HistoryEntry> {
    let change = (setting_key(), option::of(value()), option::of(value()))
        .prop_map(|(key, from, to)| ChangedField { key, from, to });
    (guild_id(), any::<u64>(), edit(), vec(change, 0..3))
        .prop_map(|(guild, revision, edit, changes)| HistoryEntry { guild, revision, edit, changes })
}

fn record() -> impl Strategy<Value = Record> {
    let member =
        (guild_id(), user_id(), roles()).prop_map(|(guild, user, roles)| Member { guild, user, roles });
    let grants = vec(select(&StaffPermission::ALL[..]), 0..9).prop_map(|grants| grants.into_iter().collect());
    prop_oneof![
        guild().prop_map(Record::Guild),
        member.prop_map(Record::Member),
        subscription().prop_map(Record::Subscription),
        (user_id(), grants).prop_map(|(user, grants)| Record::Staff(user, grants)),
        user_id().prop_map(Record::Blocked),
        feedback().prop_map(Record::Feedback),
        team_member().prop_map(Record::Team),
        outline().prop_map(Record::Outline),
        (guild_id(), stored()).prop_map(|(guild, stored)| Record::Settings(guild, stored)),
        history_entry().prop_map(Record::SettingsEdit),
        session().prop_map(Record::Session),
        (user_id(), grant()).prop_map(|(user, grant)| Record::Grant(user, grant)),
    ]
}

/// The schema of a line of a sync, from the OpenAPI document.
static LINE: LazyLock<Validator> = LazyLock::new(|| {
    let schemas: BTreeMap<_, _> = schemas().into_iter().collect();
    let document = json!({"$ref": "#/components/schemas/SyncLine", "components": {"schemas": schemas}});
    jsonschema::validator_for(&document).unwrap()
});

proptest! {
    #[test]
    fn records_round_trip_in_chunks_of_any_size(
        records in vec(record(), 0..8),
        size in 1..500_usize,
    ) {
        let text: String = records.iter().cloned().map(write_line).collect();
        prop_assert_eq!(text.lines().count(), text.matches('\n').count());
        prop_assert_eq!(text.matches('\n').count(), records.len(), "one line each");
        let mut lines = Lines::new(Accepted::Archive);
        let mut read = Vec::new();
        for piece in text.as_bytes().chunks(size) {
            read.extend(lines.take(piece).unwrap());
        }
        read.extend(lines.finish().unwrap());
        let numbers: Vec<_> = read.iter().map(|numbered| numbered.line).collect();
        prop_assert_eq!(numbers, (1..=records.len() as u64).collect::<Vec<_>>());
        prop_assert_eq!(read.into_iter().map(|numbered| numbered.record).collect::<Vec<_>>(), records);
    }

    #[test]
    fn written_lines_match_their_schema(record in record()) {
        let line: Value = serde_json::from_str(&write_line(record.clone())).unwrap();
        let described = record.kind().replaced().is_some();
        prop_assert_eq!(LINE.is_valid(&line), described, "{}", line);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in vec(any::<u8>(), 0..200)) {
        let mut lines = Lines::new(Accepted::World);
        if lines.take(&bytes).is_ok() {
            let _ = lines.finish();
        }
    }
}
