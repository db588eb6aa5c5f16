//! Those who can sign in.

use super::{
    guilds::{SampleRole, guild_id, guild_name, icon_hash},
    picture_hash, snowflake,
};
use companion_dev_identity::{Account, AccountGuild};
use companion_domain::model::{GuildId, Invalid, StaffGrant, UserId};

/// The platform's bit for Manage Server.
const MANAGE_SERVER: u64 = 1 << 5;

/// Someone who can sign in to the demo.
#[derive(Debug, Clone)]
pub struct Person {
    /// Who they are.
    pub id: UserId,
    /// What the platform knows of them.
    pub account: Account,
    /// Their name.
    pub name: &'static str,
    /// What there is to see through their eyes.
    pub about: &'static str,
    /// Which sample roles they have, and where.
    pub roles: Vec<(GuildId, SampleRole)>,
    /// What they were granted by name.
    pub granted: Vec<StaffGrant>,
    /// Whether they may not use the service.
    pub blocked: bool,
}

/// What the platform says of someone in a guild.
#[derive(Clone, Copy, PartialEq)]
enum Is {
    Owner,
    /// With the platform's Manage Server permission.
    Manager,
    Member,
}

struct Sketch {
    word: &'static str,
    name: &'static str,
    about: &'static str,
    guilds: &'static [(usize, Is)],
    roles: &'static [(usize, SampleRole)],
    granted: &'static [StaffGrant],
    blocked: bool,
}

const SKETCHES: &[Sketch] = &[
    Sketch {
        word: "owner",
        name: "Sample Owner",
        about: "owns two guilds, one of them premium, and helps in others",
        guilds: &[(0, Is::Owner), (1, Is::Owner), (2, Is::Manager), (3, Is::Member), (4, Is::Member)],
        roles: &[(3, SampleRole::Moderator)],
        granted: &[],
        blocked: false,
    },
    Sketch {
        word: "manager",
        name: "Sample Manager",
        about: "manages two guilds and administrates a third",
        guilds: &[(0, Is::Manager), (5, Is::Manager), (6, Is::Member)],
        roles: &[(6, SampleRole::Administrator)],
        granted: &[],
        blocked: false,
    },
    Sketch {
        word: "moderator",
        name: "Sample Moderator",
        about: "moderates two guilds",
        guilds: &[(0, Is::Member), (2, Is::Member), (7, Is::Member)],
        roles: &[(0, SampleRole::Moderator), (2, SampleRole::Staff)],
        granted: &[],
        blocked: false,
    },
    Sketch {
        word: "developer",
        name: "Sample Developer",
        about: "is granted BOT_DEVELOPER by name, and administrates one guild",
        guilds: &[(3, Is::Member), (4, Is::Member)],
        roles: &[(3, SampleRole::Administrator)],
        granted: &[StaffGrant::BotDeveloper],
        blocked: false,
    },
    Sketch {
        word: "visitor",
        name: "Sample Visitor",
        about: "is a plain member everywhere, and so sees no guild",
        guilds: &[(0, Is::Member), (1, Is::Member)],
        roles: &[],
        granted: &[],
        blocked: false,
    },
    Sketch {
        word: "blocked",
        name: "Sample Blocked User",
        about: "is blocked, and gets 403",
        guilds: &[(1, Is::Owner)],
        roles: &[],
        granted: &[],
        blocked: true,
    },
];

/// Everyone who can sign in to the demo.
pub fn people() -> Result<Vec<Person>, Invalid> {
    SKETCHES.iter().zip(1..).map(|(sketch, number)| person(sketch, number)).collect()
}

fn person(sketch: &Sketch, number: u64) -> Result<Person, Invalid> {
    let id = UserId::new(snowflake(number))?;
    let guilds = sketch.guilds.iter().map(|(place, is)| {
        Ok(AccountGuild {
            id: guild_id(*place)?.get(),
            name: guild_name(*place).to_owned(),
            icon: icon_hash(*place),
            owner: *is == Is::Owner,
            permissions: if *is == Is::Manager { MANAGE_SERVER } else { 0 },
        })
    });
    Ok(Person {
        id,
        account: Account {
            id: id.get(),
            username: format!("sample_{}", sketch.word),
            global_name: Some(sketch.name.to_owned()),
            avatar: picture_hash(number),
            guilds: guilds.collect::<Result<_, Invalid>>()?,
        },
        name: sketch.name,
        about: sketch.about,
        roles: sketch
            .roles
            .iter()
            .map(|(guild, role)| Ok((guild_id(*guild)?, *role)))
            .collect::<Result<_, Invalid>>()?,
        granted: sketch.granted.to_vec(),
        blocked: sketch.blocked,
    })
}
