//! Everything that the bot knows of the sample world.

use super::{Person, feedback::feedback, guilds, team};
use companion_domain::{
    model::{Invalid, Member, Name, Slots, SubscribedGuilds, Subscription, Timestamp, WebUrl},
    port::Record,
};
use companion_records::write_line;

/// The order of the team's categories that suits the sample.
pub(super) fn categories() -> Result<Vec<Name>, Invalid> {
    team::CATEGORIES.iter().map(|category| category.parse()).collect()
}

/// The sample world in the lines of a sync, with pictures from this address.
pub(super) fn lines(people: &[Person], now: Timestamp, cdn: &WebUrl) -> Result<String, Invalid> {
    Ok(records(people, now, cdn)?.iter().map(write_line).collect())
}

fn records(people: &[Person], now: Timestamp, cdn: &WebUrl) -> Result<Vec<Record>, Invalid> {
    let at_first = |(index, _): &(usize, _)| *index != guilds::COMES_AND_GOES;
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
    records.extend(team::team(cdn)?.into_iter().map(Record::TeamMember));
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
