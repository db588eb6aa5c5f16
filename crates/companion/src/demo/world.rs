//! Brings the sample world in.

use super::{Person, feedback::feedback, guilds::guild_id, guilds::guilds, team};
use companion_domain::{
    model::{Invalid, Member, Name, PictureServer, Slots, SubscribedGuilds, Subscription, Timestamp},
    port::StoreError,
    usecase::Feed,
};

/// Why there is no sample world.
#[derive(Debug, thiserror::Error)]
pub enum SeedError {
    /// The sample itself is wrong.
    #[error("the sample world makes no sense: {0}")]
    Invalid(#[from] Invalid),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The order of the team's categories that suits the sample.
pub fn categories() -> Result<Vec<Name>, Invalid> {
    team::CATEGORIES.iter().map(|category| category.parse()).collect()
}

/// Feeds the sample world, as a bot would.
pub async fn seed(
    feed: &Feed,
    people: &[Person],
    now: Timestamp,
    pictures: &PictureServer,
) -> Result<(), SeedError> {
    for guild in guilds(pictures)? {
        feed.put_guild(&guild).await?;
    }
    for person in people {
        seed_person(feed, person).await?;
    }
    if let Some(person) = people.first() {
        feed.put_subscription(&Subscription {
            user: person.user.id,
            guilds: SubscribedGuilds::new(vec![guild_id(0)?])?,
            slots: Slots::new(3)?,
        })
        .await?;
    }
    for entry in feedback(now, pictures)? {
        feed.put_feedback(&entry).await?;
    }
    feed.replace_team(&team::team(pictures)?).await?;
    Ok(())
}

async fn seed_person(feed: &Feed, person: &Person) -> Result<(), SeedError> {
    for (guild, role) in &person.roles {
        feed.put_member(&Member { guild: *guild, user: person.user.id, roles: role.set()? }).await?;
    }
    if !person.granted.is_empty() {
        feed.put_staff(person.user.id, person.granted.iter().copied().collect()).await?;
    }
    if person.blocked {
        feed.block(person.user.id).await?;
    }
    Ok(())
}
