//! The guilds that have the bot.

use super::snowflake;
use companion_domain::model::{
    Guild, GuildId, Invalid, MemberCount, RoleBindings, RoleId, RoleKey, RoleSet, UserId, WebUrl,
};

/// A platform role that every sample guild has and binds to one of the bot's rights.
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

    /// The role itself.
    pub(super) fn set(self) -> Result<RoleSet, Invalid> {
        RoleSet::new(vec![RoleId::new(snowflake(900 + self as u64))?])
    }
}

/// A guild in a few strokes.
struct Sketch {
    name: &'static str,
    members: u64,
    /// The owner, as the number of a person.
    owner: u64,
    setup: bool,
    linked: bool,
    has_icon: bool,
}

const fn sketch(
    name: &'static str,
    members: u64,
    owner: u64,
    [setup, linked, has_icon]: [bool; 3],
) -> Sketch {
    Sketch { name, members, owner, setup, linked, has_icon }
}

/// Which of them are set up, linked to a game server, and have an icon of their own.
const GUILDS: [Sketch; 8] = [
    sketch("Harbour City Roleplay", 18_240, 1, [true, true, true]),
    sketch("Copper Ridge County", 2_315, 1, [true, false, false]),
    sketch("Northgate Patrol", 7_802, 31, [true, true, true]),
    sketch("The Quiet Library", 412, 32, [true, false, false]),
    sketch("Lantern Street", 96, 33, [false, false, false]),
    sketch("Granite Falls Rescue", 5_120, 34, [true, true, true]),
    sketch("Fogbound Isle", 1_044, 35, [true, false, true]),
    sketch("Sunset Valley Builders", 31_977, 36, [true, false, false]),
];

/// The id of the sample guild at this place in the list.
pub(super) fn guild_id(place: usize) -> Result<GuildId, Invalid> {
    GuildId::new(snowflake(100 + place as u64))
}

/// The name of the sample guild at this place in the list.
pub(super) fn guild_name(place: usize) -> &'static str {
    GUILDS.get(place).map_or("", |sketch| sketch.name)
}

/// The hash of the icon of the sample guild at this place in the list, where it has one.
pub(super) fn icon_hash(place: usize) -> Option<String> {
    let has_icon = GUILDS.get(place).is_some_and(|sketch| sketch.has_icon);
    has_icon.then(|| format!("{:032x}", u128::from(snowflake(200 + place as u64))))
}

/// Every sample guild, as the bot reports it.
pub(super) fn guilds(cdn: &WebUrl) -> Result<Vec<Guild>, Invalid> {
    GUILDS.iter().enumerate().map(|(place, sketch)| guild(place, sketch, cdn)).collect()
}

fn guild(place: usize, sketch: &Sketch, cdn: &WebUrl) -> Result<Guild, Invalid> {
    let id = guild_id(place)?;
    let icon = icon_hash(place).map(|hash| format!("{cdn}/icons/{id}/{hash}.png").parse()).transpose()?;
    let bindings = SampleRole::ALL.iter().map(|role| Ok((role.key(), role.set()?)));
    Ok(Guild {
        id,
        name: sketch.name.parse()?,
        icon,
        members: MemberCount::new(sketch.members)?,
        owner: UserId::new(snowflake(sketch.owner))?,
        setup: sketch.setup,
        linked: sketch.linked,
        bindings: RoleBindings::new(bindings.collect::<Result<Vec<_>, Invalid>>()?),
    })
}
