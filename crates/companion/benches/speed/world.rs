//! The data of the servers: a world of a given size, the same for all.

use companion::system::SystemClock;
use companion_domain::{model::SecretKey, port::Clock as _, session::TokenRing};
use serde_json::{Value, json};
use std::{
    fmt::Write as _,
    fs::File,
    io::{BufWriter, Write as _},
    path::{Path, PathBuf},
};

/// The key of the service, so that tokens can be created here.
pub(crate) const KEY: [u8; 32] = [7; 32];
/// First ids of guilds, users and roles, as long as the platform's own.
pub(crate) const GUILDS: u64 = 1_000_000_000_000_000_000;
pub(crate) const USERS: u64 = 1_100_000_000_000_000_000;
const ROLES: u64 = 1_200_000_000_000_000_000;
/// The platform's Administrator permission.
const ADMINISTRATOR: &str = "8";

/// The size of a world.
#[derive(Clone, Copy)]
pub(crate) struct World {
    pub(crate) guilds: u64,
    pub(crate) feedback: u64,
    /// Each has one session.
    pub(crate) users: u64,
    /// Number of guilds with the bot per user.
    pub(crate) guilds_each: u64,
}

impl World {
    pub(crate) const USUAL: Self = Self { guilds: 1000, feedback: 1000, users: 200, guilds_each: 10 };
}

/// A world written to files.
pub(crate) struct Written {
    /// Lines of the sync format, with sessions and grants.
    pub(crate) lines: PathBuf,
    /// The token of each user, one per line.
    pub(crate) tokens: PathBuf,
}

impl World {
    /// Writes it into a folder.
    pub(crate) fn write(&self, folder: &Path) -> anyhow::Result<Written> {
        let written = Written { lines: folder.join("world.ndjson"), tokens: folder.join("tokens") };
        let mut lines = BufWriter::new(File::create(&written.lines)?);
        let mut write = |line: Value| writeln!(lines, "{line}");
        (0..self.guilds).try_for_each(|number| write(guild(number)))?;
        (0..self.feedback).try_for_each(|number| write(feedback(number)))?;
        (0..12).try_for_each(|number| write(team_member(number)))?;
        let mut tokens = BufWriter::new(File::create(&written.tokens)?);
        let (ring, now) = (TokenRing::new(&SecretKey::new(KEY), &[]), SystemClock.now().micros());
        for user in 0..self.users {
            let token = ring.issue(&random(user));
            writeln!(tokens, "{}", token.expose())?;
            let id = (USERS + user).to_string();
            write(json!({
                "kind": "session", "id": token.hash().to_string(), "user": id, "created_at": now, "last_seen_at": now
            }))?;
            let memberships: Vec<_> =
                (0..self.guilds_each).map(|place| self.membership(user, place)).collect();
            let list = json!({"fetched_at": now, "guilds": memberships});
            write(json!({"kind": "grant", "user": id, "version": 1, "tokens": null, "list": list}))?;
        }
        tokens.flush()?;
        lines.flush()?;
        Ok(written)
    }

    /// Returns the lines of a sync: its guilds, and nine members of each.
    pub(crate) fn sync_lines(&self) -> String {
        let mut lines = String::new();
        for number in 0..self.guilds {
            let _ = writeln!(lines, "{}", guild(number));
            for member in 0..9 {
                let _ = writeln!(
                    lines,
                    "{}",
                    json!({
                        "kind": "member", "guild": (GUILDS + number).to_string(),
                        "user": (USERS + number * 9 + member).to_string(), "roles": [(ROLES + number).to_string()],
                    })
                );
            }
        }
        lines
    }

    /// Returns a membership: the user owns the first guild, and is an administrator of the others.
    fn membership(&self, user: u64, place: u64) -> Value {
        let guild = (user * self.guilds_each + place) % self.guilds;
        json!({"id": (GUILDS + guild).to_string(), "owner": place == 0, "permissions": ADMINISTRATOR})
    }
}

/// Returns the random part of a user's token, which is deterministic here so that it can be reproduced.
fn random(user: u64) -> [u8; 32] {
    let mut bytes = [0; 32];
    for (target, byte) in bytes.iter_mut().zip(user.to_le_bytes().into_iter().cycle()) {
        *target = byte;
    }
    bytes
}

/// Returns a guild of the world with this name.
pub(crate) fn guild_named(number: u64, name: &str) -> Value {
    json!({
        "kind": "guild", "id": (GUILDS + number).to_string(), "name": name,
        "icon": format!("https://cdn.example/icons/{number}.png"), "members": 100 + number,
        "owner": (USERS + number).to_string(), "setup": !number.is_multiple_of(3), "linked": !number.is_multiple_of(2),
        "roles": {"MOD": [(ROLES + number).to_string()]},
    })
}

fn guild(number: u64) -> Value {
    guild_named(number, &format!("Harbour Town {number}"))
}

fn person(number: u64) -> Value {
    json!({
        "username": format!("person_{number}"), "name": format!("Person {number}"),
        "id": (USERS + number).to_string(), "avatar": format!("https://cdn.example/avatars/{number}.png"),
    })
}

fn feedback(number: u64) -> Value {
    json!({
        "kind": "feedback", "id": format!("f{number}"), "rating": 4 + number % 2, "timestamp": 1_700_000_000,
        "feedback": format!("Set up in {number} minutes, and it has not missed a beat since."),
        "submitter": person(number),
    })
}

fn team_member(number: u64) -> Value {
    json!({
        "kind": "team", "username": format!("member_{number}"), "name": format!("Member {number}"),
        "avatar": format!("https://cdn.example/avatars/team/{number}.png"),
        "discord_id": (USERS + number).to_string(), "role": "Developer", "color": "#1ABC9C",
        "category": if number.is_multiple_of(2) { "Development" } else { "Support" }, "position": number,
    })
}
