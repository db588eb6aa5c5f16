//! The sample guilds that have the bot, as the bot reports them.

use super::snowflake;
use companion_dev_identity::AccountGuild;
use serde_json::{Value, json};

/// A platform role that every sample guild has and binds to a role key of the bot.
#[derive(Clone, Copy)]
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

/// Name, members, the number of the owner; whether it is set up, is linked to a game server, and has an icon.
type Row = (&'static str, u64, u64, [bool; 3]);

const GUILDS: [Row; 9] = [
    ("Harbour City Roleplay", 18_240, 1, [true, true, true]),
    ("Copper Ridge County", 2_315, 1, [true, false, false]),
    ("Northgate Patrol", 7_802, 31, [true, true, true]),
    ("The Quiet Library", 412, 32, [true, false, false]),
    ("Lantern Street", 96, 33, [false, false, false]),
    ("Granite Falls Rescue", 5_120, 34, [true, true, true]),
    ("Fogbound Isle", 1_044, 35, [true, false, true]),
    ("Sunset Valley Builders", 31_977, 36, [true, false, false]),
    ("Wandering Circus", 664, 4, [true, false, true]),
];

/// Index of the guild that the bot joins and leaves repeatedly. Initially it is absent.
pub(super) const TRANSIENT_GUILD: usize = 8;
/// Index of the guild that is set up and reset repeatedly.
const SETUP_GUILD: usize = 1;
/// Index of the guild in which the sample moderator is promoted and demoted.
pub(super) const PROMOTION_GUILD: usize = 7;

/// Returns the id of the sample guild at this index.
pub(super) const fn guild_id(index: usize) -> u64 {
    snowflake(100 + index as u64)
}

fn icon_hash(index: usize) -> String {
    format!("{:032x}", u128::from(snowflake(200 + index as u64)))
}

/// Returns a sample guild as the platform lists it for a member.
pub(super) fn account_guild(index: usize, owner: bool, permissions: u64) -> Option<AccountGuild> {
    let (name, _, _, [.., has_icon]) = GUILDS.get(index)?;
    let icon = has_icon.then(|| icon_hash(index));
    Some(AccountGuild { id: guild_id(index), name: (*name).to_owned(), icon, owner, permissions })
}

/// Returns the records of all guilds that have the bot, with this many new members each. In the second half of a cycle
/// the bot has joined the guild that it joins and leaves, and another guild is set up.
pub(super) fn guilds(cdn: &str, newcomers: u64, second_half: bool) -> Vec<Value> {
    let roles: serde_json::Map<_, _> =
        ROLES.iter().map(|(role, key, ..)| ((*key).to_owned(), json!([role.id()]))).collect();
    let guild = |(index, (name, members, owner, [setup, linked, has_icon])): (usize, &Row)| {
        let id = guild_id(index);
        json!({
            "kind": "guild", "id": id.to_string(), "name": name, "members": members + newcomers,
            "icon": has_icon.then(|| format!("{cdn}/icons/{id}/{}.png", icon_hash(index))),
            "owner": snowflake(*owner).to_string(), "linked": linked, "roles": roles,
            "setup": *setup && (second_half || index != SETUP_GUILD),
        })
    };
    let has_bot = |(index, _): &(usize, &Row)| second_half || *index != TRANSIENT_GUILD;
    GUILDS.iter().enumerate().filter(has_bot).map(guild).collect()
}

/// Channels of every sample guild: number, name and kind.
const CHANNELS: [(u64, &str, &str); 6] = [
    (0, "Community", "category"),
    (1, "welcome", "text"),
    (2, "announcements", "announcement"),
    (3, "moderators", "text"),
    (4, "Lounge", "voice"),
    (5, "ideas", "forum"),
];

/// Returns the records of the channels and roles of each guild.
pub(super) fn outlines() -> impl Iterator<Item = Value> {
    let channels = CHANNELS.map(|(number, name, kind)| {
        json!({"id": snowflake(1000 + number).to_string(), "name": name, "kind": kind})
    });
    let roles = ROLES.map(|(role, _, name, color)| json!({"id": role.id(), "name": name, "color": color}));
    (0..TRANSIENT_GUILD).map(move |index| {
        let guild = guild_id(index).to_string();
        json!({"kind": "outline", "guild": guild, "channels": channels, "roles": roles})
    })
}
