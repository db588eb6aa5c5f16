//! Databases of every schema version, with data written at that version.
//!
//! A new migration needs a file of its name in the folder beside this one, with statements that fill its tables, and a
//! check below that reads all of them back.

use super::Place;
use crate::sample::{CAP, Kept, NOTHING_ENDED};
use companion_domain::{
    change::{Change, Changes, Key, Kind, Revision, Subject},
    model::{
        CodeFingerprint, GuildList, Membership, PlatformPermissions, Rating, RoleKey, RoleSet, Slots,
        StaffPermission, StaffPermissions, Subscription, Timestamp, UserId,
    },
    port::{
        BlockList, BotTelemetry, ChangeFeed, Claimed, FeedbackStore, GrantContent, GrantStore, GrantVersion,
        GuildDirectory, Health, ListingScope, Listings, Mutation, PlatformPause, PlatformPauses, Record,
        Records, SessionStore, SettingsStore, SpentCodes, StatusHistory, StoreErrorKind, TeamRoster,
    },
    session::TokenHash,
    settings::Value,
};
use companion_storage_diesel::DieselStorage;
use companion_testkit::{
    entropy::SeededEntropy,
    world::{
        a_feedback, a_guild, a_heartbeat, a_session, a_subscription, an_ownership, at, guild_id, roles,
        user_id,
    },
};
use std::{fs, path::Path, time::Duration};

const BEYOND_SIGNED: u64 = u64::MAX;

/// Returns the names of all migrations, in order.
pub(crate) fn steps<P: Place>() -> Vec<String> {
    let found = fs::read_dir(P::STEPS).unwrap();
    let mut steps: Vec<_> = found.map(|step| step.unwrap().file_name().into_string().unwrap()).collect();
    steps.sort();
    steps
}

/// Returns a database after these migrations, each followed by its data.
fn aged<P: Place>(steps: &[String]) -> P {
    let place = P::new();
    let fixtures = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/storage/shared/ages"));
    let put_in = steps.iter().map(|step| {
        let file = fixtures.join(format!("{step}.sql"));
        let statements = fs::read_to_string(&file);
        P::in_dialect(&statements.unwrap_or_else(|error| panic!("{}: {error}", file.display())))
    });
    place.apply_next_steps(put_in);
    place
}

pub(crate) async fn opens_a_database_of_every_schema_version_with_its_data<P: Place>() {
    let steps = steps::<P>();
    assert!(steps.len() >= 6, "{steps:?}");
    for age in 0..=steps.len() {
        let (past, future) = steps.split_at(age);
        let place = aged::<P>(past);
        assert_eq!(place.pending().unwrap(), future, "at age {age}");
        let storage = place.open().await;
        assert_eq!(place.pending().unwrap(), Vec::<String>::new());
        storage.check().await.unwrap();
        for step in past {
            match step.as_str() {
                "0001_history" => history(&storage).await,
                "0002_guilds" => guilds(&storage).await,
                "0003_people" => people(&storage).await,
                "0004_feedback" => feedback(&storage).await,
                "0005_clusters" => clusters(&storage).await,
                "0006_sessions" => sessions(&storage).await,
                "0007_devices" => devices(&storage).await,
                "0008_platform_pause" => platform_pause(&storage).await,
                "0009_outlines" => outlines(&storage).await,
                "0010_settings" => settings(&storage).await,
                "0011_profiles" => profiles(&storage).await,
                "0012_status_history" => status_history(&storage).await,
                unknown => {
                    panic!("write statements that fill what {unknown} made, and a check that finds it")
                }
            }
        }
        exports(&storage, age).await;
        goes_on(&storage).await;
    }
}

async fn platform_pause(storage: &DieselStorage) {
    let pause = PlatformPause {
        said_at: Timestamp::from_micros(4_000_000_000_000_000),
        wait: Duration::from_secs(5),
    };
    assert_eq!(storage.current().await.unwrap(), Some(pause));
}

async fn outlines(storage: &DieselStorage) {
    let found = Records::find(storage, &Key::Outline(guild_id(1))).await.unwrap();
    let Some(Record::Outline(outline)) = found else { panic!("{found:?}") };
    assert_eq!(
        outline.channels.as_slice().iter().map(|it| it.name.as_str()).collect::<Vec<_>>(),
        ["général"]
    );
    assert_eq!(
        outline.roles.as_slice().iter().map(|it| it.colour.is_some()).collect::<Vec<_>>(),
        [true, false]
    );
    assert_eq!(Records::find(storage, &Key::Outline(guild_id(BEYOND_SIGNED))).await.unwrap(), None);
}

async fn settings(storage: &DieselStorage) {
    assert_eq!(storage.schema().await.unwrap().unwrap().sections().len(), 1);
    let stored = SettingsStore::find(storage, guild_id(BEYOND_SIGNED)).await.unwrap();
    assert_eq!((stored.revision, stored.applied, stored.problems.len()), (2, Some(1), 1));
    assert_eq!(stored.values.get(&"welcome.on".parse().unwrap()), Some(&Value::Boolean(true)));
    assert_eq!(stored.changed.and_then(|edit| edit.by), Some(user_id(7)));
    let broken = SettingsStore::find(storage, guild_id(2)).await;
    assert_eq!(broken.map_err(|error| error.kind), Err(StoreErrorKind::Corrupt));
    let history = SettingsStore::history(storage, guild_id(BEYOND_SIGNED)).await.unwrap();
    assert_eq!(history.iter().map(|entry| entry.revision).collect::<Vec<_>>(), [2]);
}

async fn status_history(storage: &DieselStorage) {
    let mut periods: Vec<_> = storage.periods().await.unwrap();
    periods.sort_by_key(|period| period.subject.clone());
    let [incident, cluster] = &periods[..] else { panic!("{periods:?}") };
    assert_eq!((incident.subject.to_string().as_str(), incident.alert_due.is_some()), ("incident", true));
    assert_eq!((cluster.subject.to_string().as_str(), cluster.ended_at), ("cluster:east-1", None));
    let notices = storage.notices().await.unwrap();
    assert_eq!(notices.iter().map(|notice| notice.id.as_str()).collect::<Vec<_>>(), ["upgrade"]);
}

async fn profiles(storage: &DieselStorage) {
    let found = storage.profiles(&[user_id(9), user_id(10)].into()).await.unwrap();
    assert_eq!(found.values().map(|profile| profile.name.as_str()).collect::<Vec<_>>(), ["Zoë"]);
}

async fn history(storage: &DieselStorage) {
    assert_eq!(storage.latest().await.unwrap(), Revision(43));
    let change = |revision, subject| Change { revision: Revision(revision), subject };
    let told = [
        change(41, Subject::Many(Kind::Team)),
        change(42, Subject::Many(Kind::Cluster)),
        change(43, Subject::Many(Kind::Feedback)),
    ];
    assert_eq!(storage.since(Revision(40)).await.unwrap(), Changes::Listed(told.into()));
    assert_eq!(storage.since(Revision(39)).await.unwrap(), Changes::Gap(Revision(43)));
}

async fn guilds(storage: &DieselStorage) {
    let asked = [1, BEYOND_SIGNED, 2, 3, 4].map(guild_id);
    let mut seen = storage.with_roles(user_id(7), &asked).await.unwrap();
    seen.sort_by_key(|seen| seen.guild.id);
    let [owls, crab] = &seen[..] else { panic!("{seen:?}") };
    assert_eq!((owls.guild.name.as_str(), owls.guild.icon.as_ref()), ("Night Owls", None));
    assert_eq!((owls.guild.owner, owls.guild.setup, owls.guild.linked), (user_id(9), true, false));
    let bound: Vec<_> = owls.guild.bindings.iter().collect();
    assert_eq!(bound, [(RoleKey::Mod, &roles(&[50, BEYOND_SIGNED])), (RoleKey::Admin, &roles(&[51]))]);
    assert_eq!(*owls.roles, roles(&[50, 51]));
    assert_eq!(crab.guild.name.as_str(), "Zoë's 🦀 \"café\"");
    assert_eq!(crab.guild.icon.as_ref().unwrap().as_str(), "HTTPS://Cdn.Example/icons/1.png");
    assert_eq!((crab.guild.owner, crab.guild.members.get()), (user_id(1 << 63), 0));
    assert_eq!(*crab.roles, RoleSet::default());
    for (user, expected) in [(8, RoleSet::default()), (9, RoleSet::default())] {
        let seen = storage.with_roles(user_id(user), &[guild_id(1)]).await.unwrap();
        assert_eq!(seen.iter().map(|seen| &*seen.roles).collect::<Vec<_>>(), [&expected], "{user}");
    }
    let seen = storage.with_roles(user_id(BEYOND_SIGNED - 1), &asked).await.unwrap();
    assert!(seen.iter().any(|seen| *seen.roles == roles(&[BEYOND_SIGNED])), "{seen:?}");
    for lost in [2, 3] {
        assert_eq!(Records::find(storage, &Key::Guild(guild_id(lost))).await.unwrap(), None);
    }
}

/// Returns the users whose subscriptions name a guild.
async fn guild_subscriptions(storage: &DieselStorage, guild: u64) -> Vec<UserId> {
    let listing = storage.read(user_id(7), ListingScope::Guild(guild_id(guild))).await.unwrap();
    listing.guild_subscriptions.iter().map(|subscription| subscription.user).collect()
}

async fn people(storage: &DieselStorage) {
    let found = async |key| Records::find(storage, &key).await.unwrap();
    let subscription =
        Subscription { slots: Slots::new(2).unwrap(), ..a_subscription(9, &[1, BEYOND_SIGNED]) };
    for (user, expected) in [(9, Some(&subscription)), (10, Some(&a_subscription(10, &[]))), (11, None)] {
        let expected = expected.cloned().map(Record::Subscription);
        assert_eq!(found(Key::Subscription(user_id(user))).await, expected);
    }
    assert_eq!(guild_subscriptions(storage, 1).await, [user_id(9)]);

    let founder = [StaffPermission::Founder, StaffPermission::Support].into_iter().collect();
    for (user, grants) in [(9, Some(founder)), (10, Some(StaffPermissions::default())), (11, None)] {
        let user = user_id(user);
        assert_eq!(found(Key::Staff(user)).await, grants.map(|grants| Record::Staff(user, grants)));
    }
    for (user, blocked) in [(13, true), (BEYOND_SIGNED - 1, true), (14, false)] {
        assert_eq!(storage.is_blocked(user_id(user)).await.unwrap(), blocked);
    }

    let team = TeamRoster::all(storage).await.unwrap();
    let mut places: Vec<_> = team
        .iter()
        .map(|member| (member.category.as_str(), member.color.as_str(), member.position))
        .collect();
    places.sort_unstable();
    assert_eq!(places, [("Board", "#1ABC9C", 1), ("Über", "#1abc9c", -3)]);
    assert!(team.iter().all(|member| member.user.id == user_id(7)));
}

async fn feedback(storage: &DieselStorage) {
    for (id, found) in [("f-1", true), ("f-2", false), ("f-3", true), ("f-4", false), ("f-5", true)] {
        assert_eq!(
            FeedbackStore::find(storage, &id.parse().unwrap()).await.unwrap().is_some(),
            found,
            "{id}"
        );
    }
    let quiet = FeedbackStore::find(storage, &"f-3".parse().unwrap()).await.unwrap().unwrap();
    assert_eq!((quiet.text.as_str(), quiet.rating), ("", Rating::new(1).unwrap()));
    assert_eq!(
        (quiet.submitted_at, quiet.submitter.id),
        (Timestamp::from_micros(-1), user_id(BEYOND_SIGNED - 1))
    );
    let mut shown = storage.pick_positive(5, SeededEntropy::default().seed()).await.unwrap();
    shown.sort_by(|one, other| one.id.as_str().cmp(other.id.as_str()));
    assert_eq!(shown.iter().map(|entry| entry.text.as_str()).collect::<Vec<_>>(), ["Splendid", "Fine"]);
}

async fn clusters(storage: &DieselStorage) {
    let clusters = storage.clusters().await.unwrap();
    let [cluster] = &clusters[..] else { panic!("{clusters:?}") };
    assert_eq!((cluster.cluster.as_str(), cluster.memory.get()), ("eu-1", 12.5));
    assert_eq!((cluster.started_at, cluster.received_at), (at(1_700_000_000), at(1_700_000_001)));
    assert_eq!(cluster.shards.iter().count(), 1);
}

async fn sessions(storage: &DieselStorage) {
    let id = TokenHash::from_bytes([0xAA; 32]);
    let session = SessionStore::find(storage, &id).await.unwrap().unwrap();
    assert_eq!((session.user, session.created_at), (user_id(7), at(4_000_000_000)));
    assert_eq!(SessionStore::of_user(storage, user_id(7)).await.unwrap(), [session]);

    let grant = GrantStore::find(storage, user_id(7)).await.unwrap().unwrap();
    assert_eq!(grant.version, GrantVersion(55));
    assert_eq!(grant.content.tokens.as_ref().unwrap().as_bytes(), [1, 2]);
    let list = grant.content.list.unwrap();
    assert_eq!(list.fetched_at, at(1_700_000_000));
    let granted = Membership { permissions: PlatformPermissions::from_bits(8), ..an_ownership(1) };
    assert_eq!(&*list.memberships, [granted]);
    let empty = GrantStore::find(storage, user_id(8)).await.unwrap().unwrap();
    assert_eq!((empty.content.tokens, empty.content.list), (None, None));
    let without_list = GrantStore::find(storage, user_id(9)).await.unwrap().unwrap();
    assert!(without_list.content.tokens.is_some() && without_list.content.list.is_none());
    assert_eq!(GrantStore::find(storage, user_id(10)).await.unwrap_err().kind, StoreErrorKind::Corrupt);
    // The holder of this claim died long ago.
    let claim =
        async |dead| storage.claim_refresh(user_id(8), empty.version, at(1_800_000_001), dead).await.unwrap();
    let Claimed::Held(until) = claim(None).await else { panic!("the claim is not held") };
    assert_eq!(claim(Some(until)).await, Claimed::Granted);
    assert_eq!(storage.unused(None, CAP).await.unwrap(), [8, 9, 10].map(user_id));
    // A new version is higher than every migrated one.
    let version = GrantStore::replace(storage, user_id(7), &grant_content()).await.unwrap();
    assert!(version > grant.version, "{version:?}");

    let spent = CodeFingerprint::from_bytes([0xBB; 32]);
    assert!(!storage.spend(&spent, at(3_999_999_900), at(4_000_000_500)).await.unwrap());
}

async fn devices(storage: &DieselStorage) {
    let session = SessionStore::find(storage, &TokenHash::from_bytes([0xAA; 32])).await.unwrap().unwrap();
    assert_eq!(session.user_agent.unwrap().as_str(), "Browser/1.0 (X11; Linux x86_64)");
}

fn grant_content() -> GrantContent {
    let list =
        GuildList { memberships: [an_ownership(1)].into(), without_bot: Vec::new(), fetched_at: at(5) };
    GrantContent { list: Some(list), ..GrantContent::default() }
}

/// Checks that all readable records are exported.
async fn exports(storage: &DieselStorage, age: usize) {
    let mut kept = Kept::default();
    storage.export(&mut kept).await.unwrap();
    let readable = [
        0, // Two guilds and three members.
        5, // Two subscriptions, two staff grants, two blocks, two places in the team.
        8, 3, // Clusters are not exported.
        0, // A session, and all grants but the unreadable one.
        4, 0, 0, // An outline.
        1, // The schema, the settings of a guild and an entry of their history.
        3, 0, // Two periods and a notice.
        3,
    ];
    assert_eq!(kept.0.len(), readable.iter().take(age).sum::<usize>(), "at age {age}: {:?}", kept.0);
}

/// Checks that such a database accepts and keeps new writes.
async fn goes_on(storage: &DieselStorage) {
    storage.put(Record::Guild(a_guild(2))).await.unwrap();
    assert!(Records::find(storage, &Key::Guild(guild_id(2))).await.unwrap().is_some());
    storage.put(Record::Subscription(a_subscription(11, &[2]))).await.unwrap();
    assert_eq!(guild_subscriptions(storage, 2).await, [user_id(11)]);
    storage.put(Record::Feedback(a_feedback("f-4", 5))).await.unwrap();
    assert!(FeedbackStore::find(storage, &"f-4".parse().unwrap()).await.unwrap().is_some());
    storage.write(Mutation::Report(a_heartbeat("eu-0", at(1_800_000_000)))).await.unwrap();
    assert!(storage.clusters().await.unwrap().iter().any(|cluster| cluster.cluster.as_str() == "eu-0"));
    storage.create(&a_session(3, 7, at(1)), CAP, NOTHING_ENDED).await.unwrap();
    assert!(!storage.revoke_user(user_id(7)).await.unwrap().is_empty());
    storage.check().await.unwrap();
}
