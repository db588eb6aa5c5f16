//! Everything that can count for or against a permission.

use super::permission::{RoleKey, StaffPermission};

/// One fact about a user, a guild, or the user in the guild.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fact {
    /// The platform says that the user owns the guild.
    OwnsGuild,
    /// The platform gives the user its Administrator permission.
    PlatformAdministrator,
    /// The platform gives the user its Manage Server permission.
    PlatformManageServer,
    /// The user has a platform role that the guild bound to this key.
    Bound(RoleKey),
    /// The bot has been set up in the guild.
    GuildSetUp,
    /// The guild is linked to a game server.
    GuildLinked,
    /// A premium subscription names the guild.
    GuildHasPlus,
    /// The user has a premium subscription with slots or guilds.
    UserHasPlus,
    /// The user was granted this by name.
    Granted(StaffPermission),
}

impl Fact {
    const fn bit(self) -> u32 {
        let bit = match self {
            Self::OwnsGuild => 0,
            Self::PlatformAdministrator => 1,
            Self::PlatformManageServer => 2,
            Self::GuildSetUp => 3,
            Self::GuildLinked => 4,
            Self::GuildHasPlus => 5,
            Self::UserHasPlus => 6,
            Self::Bound(key) => 7 + key as u32,
            Self::Granted(grant) => 13 + grant as u32,
        };
        1 << bit
    }
}

/// Which facts hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct FactSet(u32);

impl FactSet {
    /// How many facts there are; each subset of them is a case of the policy.
    pub const FACTS: u32 = 22;

    /// Adds a fact where `holds`.
    #[must_use]
    pub const fn with(self, fact: Fact, holds: bool) -> Self {
        if holds { Self(self.0 | fact.bit()) } else { self }
    }

    /// Whether the fact holds.
    #[must_use]
    pub const fn holds(self, fact: Fact) -> bool {
        self.0 & fact.bit() != 0
    }

    /// Every combination of facts that there can be.
    pub fn every() -> impl Iterator<Item = Self> {
        (0..1 << Self::FACTS).map(Self)
    }
}
