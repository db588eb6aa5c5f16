//! The facts that permissions depend on.

use super::permission::{RoleKey, StaffPermission};

/// A fact about a user, a guild, or the user in the guild.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fact {
    /// The user owns the guild, according to the platform.
    OwnsGuild,
    /// The user has the platform's Administrator permission.
    PlatformAdministrator,
    /// The user has the platform's Manage Server permission.
    PlatformManageServer,
    /// The user has a platform role that the guild has bound to this key.
    Bound(RoleKey),
    /// The bot has been set up in the guild.
    GuildSetUp,
    /// The guild is linked to a game server.
    GuildLinked,
    /// A premium subscription names the guild.
    GuildHasPlus,
    /// The user has a premium subscription with slots or guilds.
    UserHasPlus,
    /// The user was granted this permission by name.
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

/// A set of facts that hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct FactSet(u32);

impl FactSet {
    /// Number of facts. Each subset of them is a case of the policy.
    pub const FACTS: u32 = 22;

    /// Adds the fact if `holds`.
    #[must_use]
    pub const fn with(self, fact: Fact, holds: bool) -> Self {
        if holds { Self(self.0 | fact.bit()) } else { self }
    }

    /// Returns whether the fact holds.
    #[must_use]
    pub const fn holds(self, fact: Fact) -> bool {
        self.0 & fact.bit() != 0
    }

    /// Iterates over every combination of facts.
    pub fn every() -> impl Iterator<Item = Self> {
        (0..1 << Self::FACTS).map(Self)
    }
}
