//! A believable sample world in memory, and a bot that keeps reporting: what `companion demo` shows.
//!
//! It goes the way that real data goes, through the use cases. Everyone in it has a role for a name.

mod bot;
mod feedback;
mod guilds;
mod identity;
mod people;
mod team;
mod world;

pub use self::{
    bot::SimulatedBot,
    identity::DemoIdentity,
    people::{Person, people},
    world::{SeedError, categories, seed},
};

use companion_domain::model::{Invalid, PictureServer, User, UserId, WebUrl};

/// The `number`th snowflake of the sample world. They are far enough apart to get different pictures.
const fn snowflake(number: u64) -> u64 {
    (30_000_000_000 + number * 7_919) << 22
}

/// Someone with a role for a name.
fn sample_user(number: u64, username: &str, name: &str, pictures: &PictureServer) -> Result<User, Invalid> {
    let id = UserId::new(snowflake(number))?;
    let avatar: WebUrl = pictures.default_picture(id.get()).parse()?;
    Ok(User { id, username: username.parse()?, name: name.parse()?, avatar })
}
