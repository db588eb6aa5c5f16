//! Permissions, sets of them, and the role that summarises them.

use crate::named::named;
use std::fmt;

named! {
    /// One of the twenty permissions of a user in a guild, in the order of the contract.
    Permission {
        ErlcStaff = "ERLC_STAFF",
        ServicePlusGuild = "SERVICE_PLUS_GUILD",
        QualityAssurance = "QUALITY_ASSURANCE",
        ErlcAdmin = "ERLC_ADMIN",
        Docwriter = "DOCWRITER",
        Founder = "FOUNDER",
        ErlcManager = "ERLC_MANAGER",
        ManageServer = "MANAGE_SERVER",
        Executive = "EXECUTIVE",
        BotDeveloper = "BOT_DEVELOPER",
        WebDeveloper = "WEB_DEVELOPER",
        Setup = "SETUP",
        SessionStarter = "SESSION_STARTER",
        Mod = "MOD",
        Support = "SUPPORT",
        Management = "MANAGEMENT",
        Admin = "ADMIN",
        ServiceStaff = "SERVICE_STAFF",
        ErlcLinked = "ERLC_LINKED",
        ServicePlusMember = "SERVICE_PLUS_MEMBER",
    }
    parsed as "permission": "one of the twenty permission names"
}

named! {
    /// A permission that a guild can bind to platform roles.
    RoleKey {
        Mod = "MOD",
        Admin = "ADMIN",
        ErlcStaff = "ERLC_STAFF",
        ErlcAdmin = "ERLC_ADMIN",
        ErlcManager = "ERLC_MANAGER",
        SessionStarter = "SESSION_STARTER",
    }
    parsed as "roles": "keyed by MOD, ADMIN, ERLC_STAFF, ERLC_ADMIN, ERLC_MANAGER or SESSION_STARTER"
}

named! {
    /// A permission that is granted to a user by name, in every guild.
    StaffPermission {
        Founder = "FOUNDER",
        BotDeveloper = "BOT_DEVELOPER",
        Executive = "EXECUTIVE",
        Management = "MANAGEMENT",
        WebDeveloper = "WEB_DEVELOPER",
        Support = "SUPPORT",
        ServiceStaff = "SERVICE_STAFF",
        QualityAssurance = "QUALITY_ASSURANCE",
        Docwriter = "DOCWRITER",
    }
    parsed as "permissions": "names out of FOUNDER, BOT_DEVELOPER, EXECUTIVE, MANAGEMENT, WEB_DEVELOPER, SUPPORT, SERVICE_STAFF, QUALITY_ASSURANCE and DOCWRITER"
}

macro_rules! bit_set {
    ($(#[$doc:meta])* $set:ident of $item:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
        pub struct $set(u32);

        impl $set {
            /// The empty set.
            pub const EMPTY: Self = Self(0);

            /// Adds an item.
            pub const fn insert(&mut self, item: $item) {
                self.0 |= 1 << item as u32;
            }

            /// Returns whether the set contains the item.
            #[must_use]
            pub const fn contains(self, item: $item) -> bool {
                self.0 & (1 << item as u32) != 0
            }

            /// Returns whether the set is empty.
            #[must_use]
            pub const fn is_empty(self) -> bool {
                self.0 == 0
            }

            /// Iterates over the items in the order of `ALL`.
            pub fn iter(self) -> impl Iterator<Item = $item> {
                $item::ALL.iter().copied().filter(move |item| self.contains(*item))
            }
        }

        impl FromIterator<$item> for $set {
            fn from_iter<I: IntoIterator<Item = $item>>(items: I) -> Self {
                let mut set = Self::EMPTY;
                for item in items {
                    set.insert(item);
                }
                set
            }
        }

        impl fmt::Debug for $set {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_set().entries(self.iter()).finish()
            }
        }
    };
}

bit_set!(
    /// A set of permissions.
    PermissionSet of Permission
);
bit_set!(
    /// The permissions that a user was granted by name.
    StaffPermissions of StaffPermission
);

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
    fn names_match_the_contract() {
        let names: Vec<_> = Permission::ALL.iter().map(ToString::to_string).collect();
        let contract = "ERLC_STAFF SERVICE_PLUS_GUILD QUALITY_ASSURANCE ERLC_ADMIN DOCWRITER FOUNDER ERLC_MANAGER \
            MANAGE_SERVER EXECUTIVE BOT_DEVELOPER WEB_DEVELOPER SETUP SESSION_STARTER MOD SUPPORT MANAGEMENT ADMIN \
            SERVICE_STAFF ERLC_LINKED SERVICE_PLUS_MEMBER";
        assert_eq!(names, contract.split_whitespace().collect::<Vec<_>>());
    }

    #[test]
    fn names_round_trip_and_others_are_rejected() {
        for permission in Permission::ALL {
            assert_eq!(permission.as_str().parse(), Ok(permission));
        }
        assert_eq!("mod".parse::<Permission>().unwrap_err().field, "permission");
        assert_eq!("SETUP".parse::<RoleKey>().unwrap_err().field, "roles");
        assert_eq!("MOD".parse::<StaffPermission>().unwrap_err().field, "permissions");
    }

    #[test]
    fn sets_contain_exactly_what_was_inserted() {
        assert!(PermissionSet::EMPTY.is_empty());
        for one in Permission::ALL {
            let set: PermissionSet = [one].into_iter().collect();
            assert!(!set.is_empty());
            assert_eq!(set.iter().collect::<Vec<_>>(), [one]);
        }
        let all: PermissionSet = Permission::ALL.iter().copied().collect();
        assert!(all.iter().eq(Permission::ALL.iter().copied()));
        let staff: StaffPermissions =
            [StaffPermission::Docwriter, StaffPermission::Founder].into_iter().collect();
        assert_eq!(format!("{staff:?}"), "{Founder, Docwriter}");
    }

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
}
