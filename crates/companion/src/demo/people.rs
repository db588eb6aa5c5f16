//! The sample users who can sign in.

use super::{
    guilds::{SampleRole, TRANSIENT_GUILD, guild_id, guild_name, icon_hash},
    picture_hash, snowflake,
};
use companion_dev_identity::{Account, AccountGuild};
use companion_domain::model::{GuildId, Invalid, StaffPermission, UserId};

/// The platform's permission bit for Manage Server.
const MANAGE_SERVER: u64 = 1 << 5;

/// A sample user who can sign in to the demo.
#[derive(Debug, Clone)]
pub struct Person {
    /// The user's id.
    pub id: UserId,
    /// The account on the platform.
    pub account: Account,
    /// The display name.
    pub name: &'static str,
    /// What the demo shows for this user.
    pub about: &'static str,
    /// The user's sample roles by guild.
    pub roles: Vec<(GuildId, SampleRole)>,
    /// Permissions granted to the user directly.
    pub granted: Vec<StaffPermission>,
    /// Whether the user is blocked from the service.
    pub blocked: bool,
}

/// The user's role in a guild, as the platform reports it.
#[derive(Clone, Copy, PartialEq)]
enum PlatformRole {
    Owner,
    /// With the platform's Manage Server permission.
    Manager,
    Member,
}

struct PersonTemplate {
    handle: &'static str,
    name: &'static str,
    about: &'static str,
    guilds: &'static [(usize, PlatformRole)],
    roles: &'static [(usize, SampleRole)],
    granted: &'static [StaffPermission],
    blocked: bool,
}

const TEMPLATES: &[PersonTemplate] = &[
    PersonTemplate {
        handle: "owner",
        name: "Sample Owner",
        about: "owns two guilds, one of them premium, and helps in others",
        guilds: &[
            (0, PlatformRole::Owner),
            (1, PlatformRole::Owner),
            (2, PlatformRole::Manager),
            (3, PlatformRole::Member),
            (4, PlatformRole::Member),
        ],
        roles: &[(3, SampleRole::Moderator)],
        granted: &[],
        blocked: false,
    },
    PersonTemplate {
        handle: "manager",
        name: "Sample Manager",
        about: "manages two guilds and administrates a third",
        guilds: &[(0, PlatformRole::Manager), (5, PlatformRole::Manager), (6, PlatformRole::Member)],
        roles: &[(6, SampleRole::Administrator)],
        granted: &[],
        blocked: false,
    },
    PersonTemplate {
        handle: "moderator",
        name: "Sample Moderator",
        about: "moderates two guilds, and now and then a third",
        guilds: &[(0, PlatformRole::Member), (2, PlatformRole::Member), (7, PlatformRole::Member)],
        roles: &[(0, SampleRole::Moderator), (2, SampleRole::Staff)],
        granted: &[],
        blocked: false,
    },
    PersonTemplate {
        handle: "developer",
        name: "Sample Developer",
        about: "is granted BOT_DEVELOPER by name, administrates one guild, and owns one that comes and goes",
        guilds: &[
            (3, PlatformRole::Member),
            (4, PlatformRole::Member),
            (TRANSIENT_GUILD, PlatformRole::Owner),
        ],
        roles: &[(3, SampleRole::Administrator)],
        granted: &[StaffPermission::BotDeveloper],
        blocked: false,
    },
    PersonTemplate {
        handle: "visitor",
        name: "Sample Visitor",
        about: "is a plain member everywhere, and so sees no guild",
        guilds: &[(0, PlatformRole::Member), (1, PlatformRole::Member)],
        roles: &[],
        granted: &[],
        blocked: false,
    },
    PersonTemplate {
        handle: "blocked",
        name: "Sample Blocked User",
        about: "is blocked, and gets 403",
        guilds: &[(1, PlatformRole::Owner)],
        roles: &[],
        granted: &[],
        blocked: true,
    },
];

/// Returns all sample users.
pub fn people() -> Result<Vec<Person>, Invalid> {
    TEMPLATES.iter().zip(1..).map(|(template, number)| person(template, number)).collect()
}

fn person(template: &PersonTemplate, number: u64) -> Result<Person, Invalid> {
    let id = UserId::new(snowflake(number))?;
    let guilds = template.guilds.iter().map(|(index, role)| {
        Ok(AccountGuild {
            id: guild_id(*index)?.get(),
            name: guild_name(*index).to_owned(),
            icon: icon_hash(*index),
            owner: *role == PlatformRole::Owner,
            permissions: if *role == PlatformRole::Manager { MANAGE_SERVER } else { 0 },
        })
    });
    Ok(Person {
        id,
        account: Account {
            id: id.get(),
            username: format!("sample_{}", template.handle),
            global_name: Some(template.name.to_owned()),
            avatar: picture_hash(number),
            guilds: guilds.collect::<Result<_, Invalid>>()?,
        },
        name: template.name,
        about: template.about,
        roles: template
            .roles
            .iter()
            .map(|(guild, role)| Ok((guild_id(*guild)?, *role)))
            .collect::<Result<_, Invalid>>()?,
        granted: template.granted.to_vec(),
        blocked: template.blocked,
    })
}
