//! The sample users who can sign in.

use super::{
    guilds::{SampleRole, TRANSIENT_GUILD, account_guild, guild_id},
    picture_hash, snowflake,
};
use companion_dev_identity::Account;
use serde_json::{Value, json};

/// A sample user who can sign in to the demo.
pub struct Person {
    number: u64,
    handle: &'static str,
    /// The display name.
    pub name: &'static str,
    /// What the demo shows for this user.
    pub about: &'static str,
    /// The user's guilds, and the role there as the platform reports it.
    guilds: &'static [(usize, PlatformRole)],
    /// The user's sample roles by guild.
    roles: &'static [(usize, SampleRole)],
    /// Permissions granted to the user directly.
    granted: &'static [&'static str],
    /// Whether the user is blocked from the service.
    blocked: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum PlatformRole {
    Owner,
    /// With the platform's Manage Server permission.
    Manager,
    Member,
}
use PlatformRole::{Manager, Member, Owner};

/// The platform's permission bit for Manage Server.
const MANAGE_SERVER: u64 = 1 << 5;

/// The user who is promoted and demoted repeatedly.
pub(super) const MODERATOR: Person = Person {
    number: 3,
    handle: "moderator",
    name: "Sample Moderator",
    about: "moderates two guilds, and now and then a third",
    guilds: &[(0, Member), (2, Member), (7, Member)],
    roles: &[(0, SampleRole::Moderator), (2, SampleRole::Staff)],
    granted: &[],
    blocked: false,
};

/// All sample users.
pub static PEOPLE: [Person; 6] = [
    Person {
        number: 1,
        handle: "owner",
        name: "Sample Owner",
        about: "owns two guilds, one of them premium, and helps in others",
        guilds: &[(0, Owner), (1, Owner), (2, Manager), (3, Member), (4, Member)],
        roles: &[(3, SampleRole::Moderator)],
        granted: &[],
        blocked: false,
    },
    Person {
        number: 2,
        handle: "manager",
        name: "Sample Manager",
        about: "manages two guilds and administrates a third",
        guilds: &[(0, Manager), (5, Manager), (6, Member)],
        roles: &[(6, SampleRole::Administrator)],
        granted: &[],
        blocked: false,
    },
    MODERATOR,
    Person {
        number: 4,
        handle: "developer",
        name: "Sample Developer",
        about: "is granted BOT_DEVELOPER by name, administrates one guild, and owns one that comes and goes",
        guilds: &[(3, Member), (4, Member), (TRANSIENT_GUILD, Owner)],
        roles: &[(3, SampleRole::Administrator)],
        granted: &["BOT_DEVELOPER"],
        blocked: false,
    },
    Person {
        number: 5,
        handle: "visitor",
        name: "Sample Visitor",
        about: "is a plain member everywhere, and so sees no guild",
        guilds: &[(0, Member), (1, Member)],
        roles: &[],
        granted: &[],
        blocked: false,
    },
    Person {
        number: 6,
        handle: "blocked",
        name: "Sample Blocked User",
        about: "is blocked, and gets 403",
        guilds: &[(1, Owner)],
        roles: &[],
        granted: &[],
        blocked: true,
    },
];

impl Person {
    pub(super) const fn id(&self) -> u64 {
        snowflake(self.number)
    }

    /// Returns the account on the platform.
    pub(crate) fn account(&self) -> Account {
        let guild = |(index, role): &(usize, PlatformRole)| {
            account_guild(*index, *role == Owner, if *role == Manager { MANAGE_SERVER } else { 0 })
        };
        Account {
            id: self.id(),
            username: format!("sample_{}", self.handle),
            global_name: Some(self.name.to_owned()),
            avatar: picture_hash(self.number),
            guilds: self.guilds.iter().filter_map(guild).collect(),
        }
    }

    /// Returns what the bot reports about the user.
    pub(super) fn records(&self) -> Vec<Value> {
        let user = self.id().to_string();
        let member = |(guild, role): &(usize, SampleRole)| json!({"kind": "member", "guild": guild_id(*guild).to_string(), "user": user, "roles": [role.id()]});
        let mut records: Vec<_> = self.roles.iter().map(member).collect();
        if !self.granted.is_empty() {
            records.push(json!({"kind": "staff", "user": user, "permissions": self.granted}));
        }
        if self.blocked {
            records.push(json!({"kind": "blocked", "user": user}));
        }
        records
    }
}
