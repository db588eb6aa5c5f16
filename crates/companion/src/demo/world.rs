//! The records of the sample world, as lines of a sync.

use super::{guilds, people::PEOPLE, picture_hash, snowflake};
use companion_domain::model::Timestamp;
use serde_json::{Value, json};
use std::time::Duration;

/// Formats records as the lines of a sync.
pub(super) fn to_lines(records: impl IntoIterator<Item = Value>) -> String {
    records.into_iter().map(|record| format!("{record}\n")).collect()
}

/// Returns the sample world, with pictures from this address.
pub(super) fn world(now: Timestamp, cdn: &str) -> String {
    let mut records = guilds::guilds(cdn, 0, false);
    records.extend(PEOPLE.iter().flat_map(|person| person.records()));
    let (owner, premium) = (snowflake(1).to_string(), guilds::guild_id(0).to_string());
    records.push(json!({"kind": "plus", "user": owner, "guilds": [premium], "slots": 3}));
    records.extend((1..).zip(OPINIONS).map(|(number, (stars, days, text))| {
        let (id, avatar) = id_and_avatar(299 + number, cdn);
        let at = now.before(Duration::from_secs(days * 24 * 60 * 60));
        json!({
            "kind": "feedback", "id": format!("sample-{number}"), "feedback": text, "rating": stars,
            "timestamp": at.seconds(), "submitter": {
                "username": format!("sample_guest_{number}"), "name": format!("Sample Guest {number}"), "id": id,
                "avatar": avatar,
            },
        })
    }));
    records.extend((400..).zip(TEAM).map(|(number, (category, position, role, color))| {
        let (id, avatar) = id_and_avatar(number, cdn);
        json!({
            "kind": "team", "username": format!("sample_{}", role.to_lowercase().replace(' ', "_")),
            "name": format!("Sample {role}"), "avatar": avatar, "discord_id": id, "role": role, "color": color,
            "category": category, "position": position,
        })
    }));
    to_lines(records.into_iter().chain(guilds::outlines()))
}

fn id_and_avatar(number: u64, cdn: &str) -> (String, String) {
    let id = snowflake(number);
    let avatar = match picture_hash(number) {
        Some(hash) => format!("{cdn}/avatars/{id}/{hash}.png"),
        None => format!("{cdn}/embed/avatars/{}.png", (id >> 22) % 6),
    };
    (id.to_string(), avatar)
}

/// Category, position, role, colour.
const TEAM: [(&str, i32, &str, &str); 6] = [
    ("Leadership", 1, "Founder", "#E67E22"),
    ("Leadership", 2, "Community Lead", "#F1C40F"),
    ("Engineering", 1, "Bot Developer", "#3498DB"),
    ("Engineering", 2, "Web Developer", "#1ABC9C"),
    ("Support", 1, "Support Lead", "#9B59B6"),
    ("Support", 2, "Documentation Writer", "#95A5A6"),
];

/// The order in which the categories are shown, as a configuration value.
pub(super) const CATEGORIES: &str = r#"["Leadership", "Engineering", "Support"]"#;

/// Stars, age in days, text.
const OPINIONS: [(i64, u64, &str); 12] = [
    (5, 1, "Set up in ten minutes, and our staff has not asked a question since."),
    (4, 3, "Shift logging is exactly what we needed. A darker theme would be lovely."),
    (5, 4, "The permissions make sense at first sight."),
    (2, 6, "Commands were slow on the weekend."),
    (5, 9, "Support answered before I had finished typing."),
    (4, 12, "Does what it says."),
    (3, 15, "Good, but the reminders come too early for us."),
    (5, 21, "We moved three servers over, and nobody noticed. That is praise."),
    (1, 27, "Not for us: we only wanted a music bot."),
    (5, 33, "The dashboard finally shows who may do what."),
    (4, 48, "Reliable. It was down once in half a year."),
    (5, 64, ""),
];
