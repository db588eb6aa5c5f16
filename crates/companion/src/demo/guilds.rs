//! The sample guilds that have the bot.

use super::snowflake;
use companion_domain::model::{
    Guild, GuildId, Invalid, MemberCount, RoleBindings, RoleId, RoleKey, RoleSet, UserId, WebUrl,
};

/// A platform role that every sample guild has and binds to a role key of the bot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SampleRole {
    /// Bound to `ADMIN`.
    Administrator,
    /// Bound to `MOD`.
    Moderator,
    /// Bound to `ERLC_STAFF`.
    Staff,
}

impl SampleRole {
    const ALL: [Self; 3] = [Self::Administrator, Self::Moderator, Self::Staff];

    const fn key(self) -> RoleKey {
        match self {
            Self::Administrator => RoleKey::Admin,
            Self::Moderator => RoleKey::Mod,
            Self::Staff => RoleKey::ErlcStaff,
        }
    }

    const fn id(self) -> u64 {
        snowflake(900 + self as u64)
    }

    /// Returns the set that contains only this role.
    pub(super) fn set(self) -> Result<RoleSet, Invalid> {
        RoleSet::new(vec![RoleId::new(self.id())?])
    }
}

/// Returns the id, name and colour of every platform role of a sample guild.
pub(super) fn named_roles() -> impl Iterator<Item = (String, &'static str, Option<&'static str>)> {
    let named = [("Administrator", Some("#E67E22")), ("Moderator", Some("#1ABC9C")), ("Staff", None)];
    SampleRole::ALL.into_iter().zip(named).map(|(role, (name, color))| (role.id().to_string(), name, color))
}

/// The fields that differ between sample guilds.
struct GuildTemplate {
    name: &'static str,
    members: u64,
    /// The owner, as the index of a sample user.
    owner: u64,
    setup: bool,
    linked: bool,
    has_icon: bool,
}

const fn template(
    name: &'static str,
    members: u64,
    owner: u64,
    [setup, linked, has_icon]: [bool; 3],
) -> GuildTemplate {
    GuildTemplate { name, members, owner, setup, linked, has_icon }
}

/// The booleans: set up, linked to a game server, has an icon.
const GUILDS: [GuildTemplate; 9] = [
    template("Harbour City Roleplay", 18_240, 1, [true, true, true]),
    template("Copper Ridge County", 2_315, 1, [true, false, false]),
    template("Northgate Patrol", 7_802, 31, [true, true, true]),
    template("The Quiet Library", 412, 32, [true, false, false]),
    template("Lantern Street", 96, 33, [false, false, false]),
    template("Granite Falls Rescue", 5_120, 34, [true, true, true]),
    template("Fogbound Isle", 1_044, 35, [true, false, true]),
    template("Sunset Valley Builders", 31_977, 36, [true, false, false]),
    template("Wandering Circus", 664, 4, [true, false, true]),
];

/// Index of the guild that the bot joins and leaves repeatedly. Initially it is absent.
pub(super) const TRANSIENT_GUILD: usize = 8;
/// Index of the guild that is set up and reset repeatedly.
pub(super) const SETUP_GUILD: usize = 1;
/// Index of the guild in which the sample moderator is promoted and demoted.
pub(super) const PROMOTION_GUILD: usize = 7;

/// Returns the id of the sample guild at this index.
pub(super) fn guild_id(index: usize) -> Result<GuildId, Invalid> {
    GuildId::new(snowflake(100 + index as u64))
}

/// Returns the name of the sample guild at this index.
pub(super) fn guild_name(index: usize) -> &'static str {
    GUILDS.get(index).map_or("", |template| template.name)
}

/// Returns the icon hash of the sample guild at this index, or `None` if it has no icon.
pub(super) fn icon_hash(index: usize) -> Option<String> {
    let has_icon = GUILDS.get(index).is_some_and(|template| template.has_icon);
    has_icon.then(|| format!("{:032x}", u128::from(snowflake(200 + index as u64))))
}

/// Returns every sample guild as the bot reports it.
pub(super) fn guilds(cdn: &WebUrl) -> Result<Vec<Guild>, Invalid> {
    GUILDS.iter().enumerate().map(|(index, template)| guild(index, template, cdn)).collect()
}

fn guild(index: usize, template: &GuildTemplate, cdn: &WebUrl) -> Result<Guild, Invalid> {
    let id = guild_id(index)?;
    let icon = icon_hash(index).map(|hash| format!("{cdn}/icons/{id}/{hash}.png").parse()).transpose()?;
    let bindings = SampleRole::ALL.iter().map(|role| Ok((role.key(), role.set()?)));
    Ok(Guild {
        id,
        name: template.name.parse()?,
        icon,
        members: MemberCount::new(template.members)?,
        owner: UserId::new(snowflake(template.owner))?,
        setup: template.setup,
        linked: template.linked,
        bindings: RoleBindings::new(bindings.collect::<Result<Vec<_>, Invalid>>()?),
    })
}
