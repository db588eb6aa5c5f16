//! The user's role in a guild, derived from the permissions.

use super::permission::{Permission, PermissionSet};
use crate::named::named;

named! {
    /// The role of a user in a guild, strongest first.
    GuildRole {
        /// Owns the guild.
        Owner = "Owner",
        /// Manages the guild or its game server.
        Manager = "Manager",
        /// Administers it, or its game server.
        Administrator = "Administrator",
        /// Moderates it, or is staff of its game server.
        Moderator = "Moderator",
    }
}

impl GuildRole {
    /// Returns the strongest role that applies, or `None` for an ordinary member.
    #[must_use]
    pub fn of(owns_guild: bool, permissions: PermissionSet) -> Option<Self> {
        let any = |keys: [Permission; 2]| keys.into_iter().any(|key| permissions.contains(key));
        if owns_guild {
            Some(Self::Owner)
        } else if any([Permission::ManageServer, Permission::ErlcManager]) {
            Some(Self::Manager)
        } else if any([Permission::Admin, Permission::ErlcAdmin]) {
            Some(Self::Administrator)
        } else if any([Permission::Mod, Permission::ErlcStaff]) {
            Some(Self::Moderator)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_strongest_role_wins_for_every_set_of_permissions() {
        let counting = [
            (Permission::ManageServer, GuildRole::Manager),
            (Permission::ErlcManager, GuildRole::Manager),
            (Permission::Admin, GuildRole::Administrator),
            (Permission::ErlcAdmin, GuildRole::Administrator),
            (Permission::Mod, GuildRole::Moderator),
            (Permission::ErlcStaff, GuildRole::Moderator),
        ];
        let counts = |permission| counting.iter().any(|(counting, _)| *counting == permission);
        let others = Permission::ALL.into_iter().filter(|permission| !counts(*permission));
        assert_eq!(GuildRole::of(false, others.collect()), None);
        for subset in 0..1_u32 << counting.len() {
            let held: Vec<_> = counting
                .iter()
                .enumerate()
                .filter(|(bit, _)| subset & (1 << bit) != 0)
                .map(|(_, held)| *held)
                .collect();
            let permissions = held.iter().map(|(permission, _)| *permission).collect();
            assert_eq!(GuildRole::of(false, permissions), held.iter().map(|(_, role)| *role).min());
            assert_eq!(GuildRole::of(true, permissions), Some(GuildRole::Owner));
        }
    }

    #[test]
    fn roles_are_sorted_by_strength_and_named_as_in_the_contract() {
        assert!(GuildRole::ALL.is_sorted());
        let names: Vec<_> = GuildRole::ALL.iter().map(ToString::to_string).collect();
        assert_eq!(names, ["Owner", "Manager", "Administrator", "Moderator"]);
    }
}
