//! The sample world: its data, as records of a sync and as accounts on the platform.

use super::{picture_hash, snowflake};
use companion_dev_identity::{Account, AccountGuild};
use companion_domain::model::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use std::{sync::LazyLock, time::Duration};

#[derive(Deserialize)]
struct World {
    guilds: Vec<Guild>,
    channels: Vec<Value>,
    people: Vec<Person>,
    team: Vec<Member>,
    feedback: Vec<Opinion>,
}

#[expect(clippy::expect_used, reason = "the data is part of the program")]
static WORLD: LazyLock<World> =
    LazyLock::new(|| serde_json::from_str(include_str!("world.json")).expect("the sample world is valid"));

/// All sample users.
pub static PEOPLE: LazyLock<&[Person]> = LazyLock::new(|| &WORLD.people);

/// A guild that has the bot.
#[derive(Deserialize)]
struct Guild {
    name: String,
    members: u64,
    /// Number of the owner.
    owner: u64,
    setup: bool,
    linked: bool,
    has_icon: bool,
}

/// A member of the team.
#[derive(Deserialize)]
struct Member {
    category: String,
    position: i32,
    role: String,
    color: String,
}

#[derive(Deserialize)]
struct Opinion {
    rating: i64,
    /// Age in days.
    days: u64,
    text: String,
}

/// A sample user who can sign in to the demo.
#[derive(Deserialize)]
pub struct Person {
    number: u64,
    handle: String,
    /// The display name.
    pub name: String,
    /// What the demo shows for this user.
    pub about: String,
    /// The user's guilds, and the role there as the platform reports it.
    guilds: Vec<(usize, PlatformRole)>,
    /// The user's sample roles by guild.
    #[serde(default)]
    roles: Vec<(usize, SampleRole)>,
    /// Permissions granted to the user directly.
    #[serde(default)]
    granted: Vec<String>,
    /// Whether the user is blocked from the service.
    #[serde(default)]
    blocked: bool,
}

#[derive(Clone, Copy, PartialEq, Deserialize)]
enum PlatformRole {
    Owner,
    /// With the platform's Manage Server permission.
    Manager,
    Member,
}

/// The platform's permission bit for Manage Server.
const MANAGE_SERVER: u64 = 1 << 5;

/// A platform role that every sample guild has and binds to a role key of the bot.
#[derive(Clone, Copy, Deserialize)]
pub(super) enum SampleRole {
    Administrator,
    Moderator,
    Staff,
}

/// Each role with the key that it is bound to, its name and its colour.
const ROLES: [(SampleRole, &str, &str, Option<&str>); 3] = [
    (SampleRole::Administrator, "ADMIN", "Administrator", Some("#E67E22")),
    (SampleRole::Moderator, "MOD", "Moderator", Some("#1ABC9C")),
    (SampleRole::Staff, "ERLC_STAFF", "Staff", None),
];

impl SampleRole {
    /// Returns its id on the platform.
    pub(super) fn id(self) -> String {
        snowflake(900 + self as u64).to_string()
    }
}

/// Index of the guild that the bot joins and leaves repeatedly. Initially it is absent.
pub(super) const TRANSIENT_GUILD: usize = 8;
/// Index of the guild that is set up and reset repeatedly.
const SETUP_GUILD: usize = 1;
/// Number of the sample moderator, who is promoted and demoted repeatedly.
pub(super) const MODERATOR: u64 = 3;
/// Index of the guild in which the sample moderator is promoted and demoted.
pub(super) const PROMOTION_GUILD: usize = 7;

/// Returns the id of the sample guild at this index.
pub(super) const fn guild_id(index: usize) -> u64 {
    snowflake(100 + index as u64)
}

fn icon_hash(index: usize) -> String {
    format!("{:032x}", u128::from(snowflake(200 + index as u64)))
}

/// Returns the records of all guilds that have the bot, with this many new members each. In the second half of a cycle
/// the bot has joined the guild that it joins and leaves, and another guild is set up.
pub(super) fn guilds(cdn: &str, newcomers: u64, second_half: bool) -> Vec<Value> {
    let roles: serde_json::Map<_, _> =
        ROLES.iter().map(|(role, key, ..)| ((*key).to_owned(), json!([role.id()]))).collect();
    let record = |(index, guild): (usize, &Guild)| {
        let id = guild_id(index);
        json!({
            "kind": "guild", "id": id.to_string(), "name": guild.name, "members": guild.members + newcomers,
            "icon": guild.has_icon.then(|| format!("{cdn}/icons/{id}/{}.png", icon_hash(index))),
            "owner": snowflake(guild.owner).to_string(), "linked": guild.linked, "roles": roles,
            "setup": guild.setup && (second_half || index != SETUP_GUILD),
        })
    };
    let has_bot = |(index, _): &(usize, &Guild)| second_half || *index != TRANSIENT_GUILD;
    WORLD.guilds.iter().enumerate().filter(has_bot).map(record).collect()
}

/// Returns the records of the channels and roles of each guild.
fn outlines() -> impl Iterator<Item = Value> {
    let mut channels = WORLD.channels.clone();
    for (number, channel) in (1000..).zip(&mut channels) {
        channel
            .as_object_mut()
            .map(|channel| channel.insert("id".to_owned(), json!(snowflake(number).to_string())));
    }
    let roles = ROLES.map(|(role, _, name, color)| json!({"id": role.id(), "name": name, "color": color}));
    (0..TRANSIENT_GUILD).map(move |index| {
        let guild = guild_id(index).to_string();
        json!({"kind": "outline", "guild": guild, "channels": channels, "roles": roles})
    })
}

impl Person {
    pub(super) const fn id(&self) -> u64 {
        snowflake(self.number)
    }

    /// Returns the account on the platform.
    pub(crate) fn account(&self) -> Account {
        let guild = |(index, role): &(usize, PlatformRole)| {
            let Guild { name, has_icon, .. } = WORLD.guilds.get(*index)?;
            Some(AccountGuild {
                id: guild_id(*index),
                name: name.clone(),
                icon: has_icon.then(|| icon_hash(*index)),
                owner: *role == PlatformRole::Owner,
                permissions: if *role == PlatformRole::Manager { MANAGE_SERVER } else { 0 },
            })
        };
        Account {
            id: self.id(),
            username: format!("sample_{}", self.handle),
            global_name: Some(self.name.clone()),
            avatar: picture_hash(self.number),
            guilds: self.guilds.iter().filter_map(guild).collect(),
        }
    }

    /// Returns what the bot reports about the user.
    fn records(&self) -> Vec<Value> {
        let user = self.id().to_string();
        let member = |(guild, role): &(usize, SampleRole)| json!({"kind": "member", "guild": guild_id(*guild).to_string(), "user": user, "roles": [role.id()]});
        let mut records: Vec<_> = self.roles.iter().map(member).collect();
        if !self.granted.is_empty() {
            records.push(json!({"kind": "staff", "user": user, "permissions": self.granted}));
        }
        if self.blocked {
            records.push(json!({"kind": "blocked", "user": user}));
        }
        records
    }
}

/// Formats records as the lines of a sync.
pub(super) fn to_lines(records: impl IntoIterator<Item = Value>) -> String {
    records.into_iter().map(|record| format!("{record}\n")).collect()
}

/// Returns the sample world, with pictures from this address.
pub(super) fn world(now: Timestamp, cdn: &str) -> String {
    let mut records = guilds(cdn, 0, false);
    records.extend(PEOPLE.iter().flat_map(|person| person.records()));
    let (owner, premium) = (snowflake(1).to_string(), guild_id(0).to_string());
    records.push(json!({"kind": "plus", "user": owner, "guilds": [premium], "slots": 3}));
    records.extend((1..).zip(&WORLD.feedback).map(|(number, Opinion { rating, days, text })| {
        let (id, avatar) = id_and_avatar(299 + number, cdn);
        let at = now.before(Duration::from_secs(days * 24 * 60 * 60));
        json!({
            "kind": "feedback", "id": format!("sample-{number}"), "feedback": text, "rating": rating,
            "timestamp": at.seconds(), "submitter": {
                "username": format!("sample_guest_{number}"), "name": format!("Sample Guest {number}"), "id": id,
                "avatar": avatar,
            },
        })
    }));
    records.extend((400..).zip(&WORLD.team).map(|(number, Member { category, position, role, color })| {
        let (id, avatar) = id_and_avatar(number, cdn);
        json!({
            "kind": "team", "username": format!("sample_{}", role.to_lowercase().replace(' ', "_")),
            "name": format!("Sample {role}"), "avatar": avatar, "discord_id": id, "role": role, "color": color,
            "category": category, "position": position,
        })
    }));
    to_lines(records.into_iter().chain(outlines()))
}

fn id_and_avatar(number: u64, cdn: &str) -> (String, String) {
    let id = snowflake(number);
    let avatar = match picture_hash(number) {
        Some(hash) => format!("{cdn}/avatars/{id}/{hash}.png"),
        None => format!("{cdn}/embed/avatars/{}.png", (id >> 22) % 6),
    };
    (id.to_string(), avatar)
}

/// The order in which the categories are shown, as a configuration value.
pub(super) const CATEGORIES: &str = r#"["Leadership", "Engineering", "Support"]"#;
