//! The records of the sample world: guilds, members, subscriptions, staff, team and feedback.

use super::{Person, guilds, sample_user, settings};
use companion_domain::{
    model::{
        Feedback, Invalid, Member, Name, PictureServer, Rating, Slots, SubscribedGuilds, Subscription,
        TeamMember, Timestamp, WebUrl,
    },
    port::Record,
};
use companion_records::write_line;
use std::time::Duration;

/// Returns the order of the sample team's categories.
pub(super) fn categories() -> Result<Vec<Name>, Invalid> {
    CATEGORIES.iter().map(|category| category.parse()).collect()
}

/// Returns the sample world as the lines of a sync, with pictures from this address.
pub(super) fn lines(people: &[Person], now: Timestamp, cdn: &WebUrl) -> Result<String, Invalid> {
    let outlines =
        (0..guilds::TRANSIENT_GUILD).map(|index| guilds::guild_id(index).map(settings::outline_line));
    let records = records(people, now, cdn)?.into_iter().map(write_line).map(Ok);
    records.chain(outlines).collect()
}

fn records(people: &[Person], now: Timestamp, cdn: &WebUrl) -> Result<Vec<Record>, Invalid> {
    let at_first = |(index, _): &(usize, _)| *index != guilds::TRANSIENT_GUILD;
    let guilds = guilds::guilds(cdn)?.into_iter().enumerate().filter(at_first);
    let mut records: Vec<_> = guilds.map(|(_, guild)| Record::Guild(guild)).collect();
    for person in people {
        records.extend(of_person(person)?);
    }
    if let Some(person) = people.first() {
        records.push(Record::Subscription(Subscription {
            user: person.id,
            guilds: SubscribedGuilds::new(vec![guilds::guild_id(0)?])?,
            slots: Slots::new(3)?,
        }));
    }
    records.extend(feedback(now, cdn)?.into_iter().map(Record::Feedback));
    records.extend(team(cdn)?.into_iter().map(Record::Team));
    Ok(records)
}

fn of_person(person: &Person) -> Result<Vec<Record>, Invalid> {
    let mut records = Vec::new();
    for (guild, role) in &person.roles {
        records.push(Record::Member(Member { guild: *guild, user: person.id, roles: role.set()? }));
    }
    if !person.granted.is_empty() {
        records.push(Record::Staff(person.id, person.granted.iter().copied().collect()));
    }
    if person.blocked {
        records.push(Record::Blocked(person.id));
    }
    Ok(records)
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

/// The order in which the categories are shown.
pub(super) const CATEGORIES: [&str; 3] = ["Leadership", "Engineering", "Support"];

pub(super) fn team(cdn: &WebUrl) -> Result<Vec<TeamMember>, Invalid> {
    let pictures = PictureServer::new(cdn.clone());
    let member = |(place, (category, position, role, color)): (usize, (&str, i32, &str, &str))| {
        let username = format!("sample_{}", role.to_lowercase().replace(' ', "_"));
        Ok(TeamMember {
            user: sample_user(400 + place as u64, &username, &format!("Sample {role}"), &pictures)?,
            role: role.parse()?,
            color: color.parse()?,
            category: category.parse()?,
            position,
        })
    };
    TEAM.into_iter().enumerate().map(member).collect()
}

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

/// Returns all sample feedback, dated relative to `now`.
pub(super) fn feedback(now: Timestamp, cdn: &WebUrl) -> Result<Vec<Feedback>, Invalid> {
    let pictures = PictureServer::new(cdn.clone());
    let entry = |(place, (stars, days, text)): (usize, (i64, u64, &str))| {
        let at = now.before(Duration::from_secs(days * 24 * 60 * 60));
        let number = place + 1;
        Ok(Feedback {
            id: format!("sample-{number}").parse()?,
            text: text.parse()?,
            rating: Rating::new(stars)?,
            submitted_at: Timestamp::from_seconds(at.seconds().max(0))?,
            submitter: sample_user(
                300 + place as u64,
                &format!("sample_guest_{number}"),
                &format!("Sample Guest {number}"),
                &pictures,
            )?,
        })
    };
    OPINIONS.into_iter().enumerate().map(entry).collect()
}
