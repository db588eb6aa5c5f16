//! A believable sample world on all the real parts: what `companion demo` shows.
//!
//! Nothing here is pretended to the service. [`SamplePlatform`] is a real OAuth 2.0 provider with the sample people on
//! it; the rest of the world reaches the service over HTTP, as one sync of the management API; [`SimulatedBot`] keeps
//! reporting there, and the world moves while one watches. [`Demo`] puts them together. Everyone in the sample has a role for a name.

mod bot;
mod guilds;
mod management_client;
mod motion;
mod people;
mod platform;
mod running;
mod world;

pub use self::{
    bot::SimulatedBot,
    guilds::SampleRole,
    management_client::{ManagementClient, RequestError},
    motion::Pace,
    people::{Person, people},
    platform::{SamplePlatform, sign_in_command},
    running::{Demo, DemoError, DemoPorts},
};

use companion_domain::model::{Invalid, PictureServer, User, UserId, WebUrl};

/// The `number`th snowflake of the sample world. They are far enough apart to get different pictures.
const fn snowflake(number: u64) -> u64 {
    (30_000_000_000 + number * 7_919) << 22
}

/// The hash of the picture that belongs to a number. Every third has none, and gets the platform's default.
fn picture_hash(number: u64) -> Option<String> {
    (!number.is_multiple_of(3)).then(|| format!("{:032x}", u128::from(snowflake(number)).pow(2)))
}

/// Someone with a role for a name.
fn sample_user(number: u64, username: &str, name: &str, pictures: &PictureServer) -> Result<User, Invalid> {
    let id = UserId::new(snowflake(number))?;
    let own = picture_hash(number).map(|hash| pictures.avatar(id, &hash));
    let avatar: WebUrl = own.unwrap_or_else(|| pictures.default_picture(id.get())).parse()?;
    Ok(User { id, username: username.parse()?, name: name.parse()?, avatar })
}
