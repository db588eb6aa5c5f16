//! Permissions and sets of them.

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
}
