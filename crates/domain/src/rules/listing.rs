//! Which guilds a user is shown, with which role and permissions, and in which order.

use crate::{
    model::{Guild, GuildId, GuildWithRoles, Membership, PictureServer, StaffPermissions, Subscription},
    policy::{Decision, Fact, FactSet, GuildRole, PermissionSet, StaffPermission, decide},
};
use std::{borrow::Cow, collections::HashMap, sync::Arc};

/// Facts about a user that count in every guild.
#[derive(Debug, Clone, Default)]
pub struct UserFacts {
    /// Whether the user is blocked.
    pub blocked: bool,
    /// The user's own premium subscription.
    pub subscription: Option<Arc<Subscription>>,
    /// Permissions granted to the user by name.
    pub staff: StaffPermissions,
}

/// What the platform reports about a user and a guild.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlatformView<'a> {
    /// Nothing: there is no grant for the user.
    NotSignedIn,
    /// Nothing yet: the user's list has not been fetched.
    NoList,
    /// The entry of its list for the guild. `None` if the list does not contain the guild.
    Listed(Option<&'a Membership>),
}

/// A guild as it is shown to a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedGuild {
    /// The guild.
    pub guild: Arc<Guild>,
    /// The user's role there.
    pub role: GuildRole,
    /// The subscription that makes the guild premium.
    pub plus: Option<Arc<Subscription>>,
    /// The user's permissions there.
    pub permissions: PermissionSet,
}

impl ListedGuild {
    /// Returns a URL that always loads: the guild's icon, or the platform's default picture for its id.
    #[must_use]
    pub fn icon(&self, pictures: &PictureServer) -> Cow<'_, str> {
        match &self.guild.icon {
            Some(icon) => Cow::Borrowed(icon.as_str()),
            None => Cow::Owned(pictures.default_picture(self.guild.id.get())),
        }
    }
}

/// The outcome of the rules for one user in one guild.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// The permissions and their reasons, from the known facts.
    pub decision: Decision,
    /// The role under which the guild is listed, or everything that excludes it. All obstacles are named at once, so
    /// that removing one does not reveal the next.
    pub listed: Result<GuildRole, Vec<NotListed>>,
}

/// A reason to exclude a guild from a user's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotListed {
    /// The user is blocked, and shown nothing at all.
    Blocked,
    /// There is no grant for the user: they never signed in, or the sign-in has ended.
    NotSignedIn,
    /// The user signed in, but their list has not been fetched yet.
    WithoutList,
    /// The platform's list for the user does not contain the guild.
    NotAMember,
    /// The bot does not report the guild.
    WithoutBot,
    /// The user is an ordinary member: no role of the contract applies.
    PlainMember,
}

/// Judges one user in one guild. Facts that neither the platform nor the bot reports do not hold.
#[must_use]
pub fn judge(
    user: &UserFacts,
    platform: PlatformView<'_>,
    seen: Option<&GuildWithRoles>,
    premium: bool,
) -> Verdict {
    let membership = match platform {
        PlatformView::Listed(membership) => membership,
        PlatformView::NotSignedIn | PlatformView::NoList => None,
    };
    let decision = decide(known_facts(user, membership, seen, premium));
    let obstacles = [
        (user.blocked, NotListed::Blocked),
        (platform == PlatformView::NotSignedIn, NotListed::NotSignedIn),
        (platform == PlatformView::NoList, NotListed::WithoutList),
        (platform == PlatformView::Listed(None), NotListed::NotAMember),
        (seen.is_none(), NotListed::WithoutBot),
    ];
    let mut obstacles: Vec<_> =
        obstacles.into_iter().filter(|(holds, _)| *holds).map(|(_, why)| why).collect();
    let role = membership.map(|membership| GuildRole::of(membership.owner, decision.permissions()));
    let listed = match role {
        Some(Some(role)) if obstacles.is_empty() => Ok(role),
        // Without the bot it is unknown which of its roles the user has.
        Some(None) if seen.is_some() => {
            obstacles.push(NotListed::PlainMember);
            Err(obstacles)
        }
        Some(_) | None => Err(obstacles),
    };
    Verdict { decision, listed }
}

fn known_facts(
    user: &UserFacts,
    membership: Option<&Membership>,
    seen: Option<&GuildWithRoles>,
    premium: bool,
) -> FactSet {
    let subscribed = user.subscription.as_ref().is_some_and(|subscription| subscription.grants_membership());
    let mut set = FactSet::default().with(Fact::GuildHasPlus, premium).with(Fact::UserHasPlus, subscribed);
    if let Some(membership) = membership {
        set = set
            .with(Fact::OwnsGuild, membership.owner)
            .with(Fact::PlatformAdministrator, membership.permissions.administrator())
            .with(Fact::PlatformManageServer, membership.permissions.manage_server());
    }
    if let Some(GuildWithRoles { guild, roles }) = seen {
        set = set.with(Fact::GuildSetUp, guild.setup).with(Fact::GuildLinked, guild.linked);
        for key in guild.bindings.held_by(roles) {
            set = set.with(Fact::Bound(key), true);
        }
    }
    for grant in StaffPermission::ALL {
        set = set.with(Fact::Granted(grant), user.staff.contains(grant));
    }
    set
}

/// Returns the guilds that both the platform and the bot report, except those where the user is an ordinary member.
/// They are ordered by role, then name, then id. A guild is premium if a subscription of `guild_subscriptions` names it.
#[must_use]
pub fn list_guilds(
    user: &UserFacts,
    memberships: &[Membership],
    guilds: &[GuildWithRoles],
    guild_subscriptions: &[Arc<Subscription>],
) -> Vec<ListedGuild> {
    let memberships: HashMap<GuildId, &Membership> =
        memberships.iter().map(|membership| (membership.guild, membership)).collect();
    let listed = guilds.iter().filter_map(|seen| {
        let plus = plus_of(seen.guild.id, guild_subscriptions);
        let platform = PlatformView::Listed(memberships.get(&seen.guild.id).copied());
        let Verdict { decision, listed } = judge(user, platform, Some(seen), plus.is_some());
        Some(ListedGuild {
            guild: Arc::clone(&seen.guild),
            role: listed.ok()?,
            plus,
            permissions: decision.permissions(),
        })
    });
    let mut listed: Vec<_> = listed.collect();
    listed.sort_by(|a, b| {
        let (one, other) = (&a.guild, &b.guild);
        a.role.cmp(&b.role).then_with(|| one.name.cmp(&other.name)).then_with(|| one.id.cmp(&other.id))
    });
    listed
}

/// Returns the subscription that makes a guild premium: of those that name it, the one with the lowest user id.
#[must_use]
pub fn plus_of(guild: GuildId, subscriptions: &[Arc<Subscription>]) -> Option<Arc<Subscription>> {
    let guild_subscriptions =
        subscriptions.iter().filter(|subscription| subscription.guilds.as_slice().contains(&guild));
    guild_subscriptions.min_by_key(|subscription| subscription.user).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{PlatformPermissions, RoleBindings, RoleId, RoleSet, Slots, SubscribedGuilds, UserId};
    use crate::policy::{Permission, RoleKey};

    fn guild(id: u64, name: &str) -> Guild {
        let bound = |key, role| (key, RoleSet::new(vec![RoleId::new(role).unwrap()]).unwrap());
        let bindings = RoleBindings::new([bound(RoleKey::Mod, 50), bound(RoleKey::ErlcAdmin, 60)]);
        let owner = UserId::new(9).unwrap();
        Guild { bindings, ..Guild::new(GuildId::new(id).unwrap(), name.parse().unwrap(), owner) }
    }

    fn seen(guild: Guild, roles: &[u64]) -> GuildWithRoles {
        let roles = roles.iter().map(|role| RoleId::new(*role).unwrap()).collect();
        GuildWithRoles { guild: Arc::new(guild), roles: Arc::new(RoleSet::new(roles).unwrap()) }
    }

    fn membership(guild: u64, owner: bool, bits: u64) -> Membership {
        Membership {
            guild: GuildId::new(guild).unwrap(),
            owner,
            permissions: PlatformPermissions::from_bits(bits),
        }
    }

    fn subscription(user: u64, guilds: &[u64], slots: u64) -> Arc<Subscription> {
        let guilds = guilds.iter().map(|guild| GuildId::new(*guild).unwrap()).collect();
        Arc::new(Subscription {
            user: UserId::new(user).unwrap(),
            guilds: SubscribedGuilds::new(guilds).unwrap(),
            slots: Slots::new(slots).unwrap(),
        })
    }

    #[test]
    fn guilds_are_ordered_by_role_then_name_then_id() {
        let world = [
            (1, "Zebra", false, 0, 50),
            (2, "Beta", false, 1 << 3, 1),
            (3, "Zulu", true, 0, 1),
            (4, "Alpha", false, 1 << 5, 1),
            (5, "Gamma", false, 0, 60),
            (6, "Alpha", false, 1 << 5, 1),
        ];
        let memberships = world.map(|(id, _, owner, bits, _)| membership(id, owner, bits));
        let guilds = world.map(|(id, name, _, _, role)| seen(guild(id, name), &[role]));
        let listed = list_guilds(&UserFacts::default(), &memberships, &guilds, &[]);
        let order: Vec<_> =
            listed.iter().map(|listed| (listed.guild.id.get(), listed.role.as_str())).collect();
        let expected = [
            (3, "Owner"),
            (4, "Manager"),
            (6, "Manager"),
            (2, "Manager"),
            (5, "Administrator"),
            (1, "Moderator"),
        ];
        assert_eq!(order, expected);
    }

    #[test]
    fn every_fact_reaches_the_decision() {
        let permissions = |user: &UserFacts, membership: &Membership, seen: &GuildWithRoles, premium| {
            judge(user, PlatformView::Listed(Some(membership)), Some(seen), premium).decision.permissions()
        };
        let (ordinary, plain, known) = (UserFacts::default(), membership(1, false, 0), guild(1, "A"));
        let unbound = seen(known.clone(), &[]);
        assert!(permissions(&ordinary, &plain, &unbound, false).is_empty());
        for (membership, seen, premium, granted) in [
            (membership(1, true, 0), unbound.clone(), false, Permission::ManageServer),
            (membership(1, false, 8), unbound.clone(), false, Permission::ManageServer),
            (membership(1, false, 32), unbound.clone(), false, Permission::ManageServer),
            (plain, seen(known.clone(), &[50]), false, Permission::Mod),
            (plain, seen(Guild { setup: true, ..known.clone() }, &[]), false, Permission::Setup),
            (plain, seen(Guild { linked: true, ..known }, &[]), false, Permission::ErlcLinked),
            (plain, unbound.clone(), true, Permission::ServicePlusGuild),
        ] {
            assert!(permissions(&ordinary, &membership, &seen, premium).contains(granted), "{granted}");
        }
        for (own, member) in [
            (subscription(4, &[], 1), true),
            (subscription(4, &[8], 0), true),
            (subscription(4, &[], 0), false),
        ] {
            let user = UserFacts { subscription: Some(own), ..UserFacts::default() };
            let granted = permissions(&user, &plain, &unbound, false);
            assert_eq!(granted.contains(Permission::ServicePlusMember), member);
        }
        for grant in StaffPermission::ALL {
            let user = UserFacts { staff: [grant].into_iter().collect(), ..UserFacts::default() };
            let named: Permission = grant.as_str().parse().unwrap();
            assert!(permissions(&user, &plain, &unbound, false).contains(named));
        }
    }

    #[test]
    fn names_all_reasons_for_exclusion_at_once() {
        use NotListed as N;
        let (ordinary, blocked) = (UserFacts::default(), UserFacts { blocked: true, ..UserFacts::default() });
        let (plain, owner) = (membership(1, false, 0), membership(1, true, 0));
        let known = seen(guild(1, "A"), &[]);
        let listed = |user, platform, seen| judge(user, platform, seen, false).listed;
        let view = |membership| PlatformView::Listed(Some(membership));
        assert_eq!(listed(&ordinary, view(&owner), Some(&known)), Ok(GuildRole::Owner));
        assert_eq!(listed(&blocked, view(&owner), Some(&known)), Err(vec![N::Blocked]));
        assert_eq!(listed(&ordinary, view(&owner), None), Err(vec![N::WithoutBot]));
        assert_eq!(listed(&ordinary, view(&plain), Some(&known)), Err(vec![N::PlainMember]));
        assert_eq!(listed(&ordinary, view(&plain), None), Err(vec![N::WithoutBot]));
        assert_eq!(
            listed(&blocked, PlatformView::NotSignedIn, None),
            Err(vec![N::Blocked, N::NotSignedIn, N::WithoutBot])
        );
        assert_eq!(listed(&ordinary, PlatformView::NoList, Some(&known)), Err(vec![N::WithoutList]));
        assert_eq!(listed(&ordinary, PlatformView::Listed(None), Some(&known)), Err(vec![N::NotAMember]));
    }

    #[test]
    fn the_lowest_user_id_decides_which_subscription_counts() {
        let subscriptions =
            [subscription(30, &[1], 1), subscription(20, &[2, 1], 0), subscription(10, &[2], 5)];
        let user = |guild| plus_of(GuildId::new(guild).unwrap(), &subscriptions).map(|plus| plus.user.get());
        assert_eq!([user(1), user(2), user(3)], [Some(20), Some(10), None]);
    }
}
