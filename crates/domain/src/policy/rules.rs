//! The facts that permissions depend on, the table of rules, and its evaluation.

use super::permission::{Permission, PermissionSet, RoleKey, StaffPermission};

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
}

/// What grants a permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// A fact.
    Fact(Fact),
    /// Another permission that implies it.
    Implied(Permission),
}

impl Source {
    const fn holds(self, facts: FactSet, granted: PermissionSet) -> bool {
        match self {
            Self::Fact(fact) => facts.holds(fact),
            Self::Implied(permission) => granted.contains(permission),
        }
    }
}

/// Each permission with its sources. One source is enough; the first that holds is given as the reason. A permission
/// comes after those that imply it, so a single pass decides all of them.
const RULES: [(Permission, &[Source]); 20] = {
    use Fact::{Bound, Granted};
    use Permission as P;
    use Source::{Fact as If, Implied};
    [
        // Rights in the guild.
        (
            P::ManageServer,
            &[If(Fact::OwnsGuild), If(Fact::PlatformAdministrator), If(Fact::PlatformManageServer)],
        ),
        (P::Admin, &[Implied(P::ManageServer), If(Bound(RoleKey::Admin))]),
        (P::Mod, &[Implied(P::Admin), If(Bound(RoleKey::Mod))]),
        (P::ErlcManager, &[Implied(P::ManageServer), If(Bound(RoleKey::ErlcManager))]),
        (P::ErlcAdmin, &[Implied(P::ErlcManager), If(Bound(RoleKey::ErlcAdmin))]),
        (P::ErlcStaff, &[Implied(P::ErlcAdmin), If(Bound(RoleKey::ErlcStaff))]),
        (P::SessionStarter, &[Implied(P::ManageServer), If(Bound(RoleKey::SessionStarter))]),
        // The state of the guild and of the user's subscription.
        (P::Setup, &[If(Fact::GuildSetUp)]),
        (P::ErlcLinked, &[If(Fact::GuildLinked)]),
        (P::ServicePlusGuild, &[If(Fact::GuildHasPlus)]),
        (P::ServicePlusMember, &[If(Fact::UserHasPlus)]),
        // The bot's own staff.
        (P::Founder, &[If(Granted(StaffPermission::Founder))]),
        (P::BotDeveloper, &[If(Granted(StaffPermission::BotDeveloper))]),
        (P::Executive, &[If(Granted(StaffPermission::Executive)), Implied(P::BotDeveloper)]),
        (
            P::Management,
            &[If(Granted(StaffPermission::Management)), Implied(P::Executive), Implied(P::BotDeveloper)],
        ),
        (P::WebDeveloper, &[If(Granted(StaffPermission::WebDeveloper)), Implied(P::BotDeveloper)]),
        (P::Support, &[If(Granted(StaffPermission::Support)), Implied(P::BotDeveloper)]),
        (P::ServiceStaff, &[If(Granted(StaffPermission::ServiceStaff)), Implied(P::BotDeveloper)]),
        (P::QualityAssurance, &[If(Granted(StaffPermission::QualityAssurance)), Implied(P::BotDeveloper)]),
        (P::Docwriter, &[If(Granted(StaffPermission::Docwriter)), Implied(P::BotDeveloper)]),
    ]
};

/// The outcome of the rules for a set of facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    facts: FactSet,
    permissions: PermissionSet,
}

impl Decision {
    /// Returns the granted permissions.
    #[must_use]
    pub const fn permissions(self) -> PermissionSet {
        self.permissions
    }

    /// Returns why a permission is granted: its source, the source of that, and so on down to a fact. Empty if it is
    /// not granted.
    #[must_use]
    pub fn why(self, permission: Permission) -> Vec<Source> {
        let next = |source: &Source| match source {
            Source::Implied(stronger) => self.source_of(*stronger),
            Source::Fact(_) => None,
        };
        // A chain is never longer than the table, so this terminates.
        std::iter::successors(self.source_of(permission), next).take(RULES.len()).collect()
    }

    fn source_of(self, permission: Permission) -> Option<Source> {
        sources_of(permission).find(|source| source.holds(self.facts, self.permissions))
    }
}

fn sources_of(permission: Permission) -> impl Iterator<Item = Source> {
    let rules = RULES.iter().filter(move |(ruled, _)| *ruled == permission);
    rules.flat_map(|(_, sources)| sources.iter().copied())
}

/// Returns every fact that grants a permission: its own first, then those of the permissions that imply it.
#[must_use]
pub fn facts_granting(permission: Permission) -> Vec<Fact> {
    let (mut facts, mut implied) = (Vec::new(), Vec::new());
    for source in sources_of(permission) {
        match source {
            Source::Fact(fact) => facts.push(fact),
            Source::Implied(stronger) => implied.push(stronger),
        }
    }
    // The table has no cycles: a permission comes after those that imply it.
    for fact in implied.into_iter().flat_map(facts_granting) {
        if !facts.contains(&fact) {
            facts.push(fact);
        }
    }
    facts
}

/// Decides all twenty permissions.
#[must_use]
pub fn decide(facts: FactSet) -> Decision {
    let mut permissions = PermissionSet::EMPTY;
    for (permission, sources) in &RULES {
        if sources.iter().any(|source| source.holds(facts, permissions)) {
            permissions.insert(*permission);
        }
    }
    Decision { facts, permissions }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The policy with every implication written out, as an oracle for the table.
    fn expected(permission: Permission, holds: impl Fn(Fact) -> bool) -> bool {
        let bound = |key| holds(Fact::Bound(key));
        let granted = |grant| holds(Fact::Granted(grant));
        let manages =
            holds(Fact::OwnsGuild) || holds(Fact::PlatformAdministrator) || holds(Fact::PlatformManageServer);
        let developer = granted(StaffPermission::BotDeveloper);
        match permission {
            Permission::ManageServer => manages,
            Permission::Admin => manages || bound(RoleKey::Admin),
            Permission::Mod => manages || bound(RoleKey::Admin) || bound(RoleKey::Mod),
            Permission::ErlcManager => manages || bound(RoleKey::ErlcManager),
            Permission::ErlcAdmin => manages || bound(RoleKey::ErlcManager) || bound(RoleKey::ErlcAdmin),
            Permission::ErlcStaff => {
                manages
                    || bound(RoleKey::ErlcManager)
                    || bound(RoleKey::ErlcAdmin)
                    || bound(RoleKey::ErlcStaff)
            }
            Permission::SessionStarter => manages || bound(RoleKey::SessionStarter),
            Permission::Setup => holds(Fact::GuildSetUp),
            Permission::ErlcLinked => holds(Fact::GuildLinked),
            Permission::ServicePlusGuild => holds(Fact::GuildHasPlus),
            Permission::ServicePlusMember => holds(Fact::UserHasPlus),
            Permission::Founder => granted(StaffPermission::Founder),
            Permission::BotDeveloper => developer,
            Permission::Executive => developer || granted(StaffPermission::Executive),
            Permission::Management => {
                developer || granted(StaffPermission::Executive) || granted(StaffPermission::Management)
            }
            Permission::WebDeveloper => developer || granted(StaffPermission::WebDeveloper),
            Permission::Support => developer || granted(StaffPermission::Support),
            Permission::ServiceStaff => developer || granted(StaffPermission::ServiceStaff),
            Permission::QualityAssurance => developer || granted(StaffPermission::QualityAssurance),
            Permission::Docwriter => developer || granted(StaffPermission::Docwriter),
        }
    }

    fn all_facts() -> Vec<Fact> {
        let mut facts = vec![
            Fact::OwnsGuild,
            Fact::PlatformAdministrator,
            Fact::PlatformManageServer,
            Fact::GuildSetUp,
            Fact::GuildLinked,
            Fact::GuildHasPlus,
            Fact::UserHasPlus,
        ];
        facts.extend(RoleKey::ALL.iter().copied().map(Fact::Bound));
        facts.extend(StaffPermission::ALL.iter().copied().map(Fact::Granted));
        facts
    }

    #[test]
    fn facts_have_distinct_bits() {
        let facts = all_facts();
        assert_eq!(facts.len(), 22);
        for fact in &facts {
            let alone = FactSet::default().with(*fact, true);
            let holding: Vec<_> = facts.iter().filter(|other| alone.holds(**other)).collect();
            assert_eq!(holding, [fact], "each fact has its own bit");
            assert_eq!(FactSet::default().with(*fact, false), FactSet::default());
            assert_eq!(alone.with(*fact, true), alone, "adding a fact twice has no effect");
        }
    }

    /// Returns the facts whose bits are set in a number.
    fn facts_of(number: usize) -> FactSet {
        let numbered = all_facts().into_iter().enumerate();
        numbered.fold(FactSet::default(), |set, (bit, fact)| set.with(fact, number >> bit & 1 == 1))
    }

    /// Returns every set of up to three facts, every set that lacks up to three, and one in 61 of the others. With
    /// `POLICY=full`, all sets.
    fn combinations() -> Vec<FactSet> {
        if std::env::var("POLICY").is_ok_and(|size| size == "full") {
            return (0..1 << all_facts().len()).map(facts_of).collect();
        }
        let bits = 0..all_facts().len();
        let mut small = vec![0_usize];
        for one in bits.clone() {
            for two in 0..=one {
                small.extend((0..=two).map(|three| 1 << one | 1 << two | 1 << three));
            }
        }
        let all = (1 << bits.end) - 1;
        let large: Vec<_> = small.iter().map(|number| all ^ number).collect();
        // The step is odd, so every fact occurs both ways.
        small.into_iter().chain(large).chain((0..all).step_by(61)).map(facts_of).collect()
    }

    #[test]
    fn decisions_equal_the_oracle_for_every_combination() {
        for facts in combinations() {
            let permissions = decide(facts).permissions();
            for permission in Permission::ALL {
                assert_eq!(
                    permissions.contains(permission),
                    expected(permission, |fact| facts.holds(fact)),
                    "{permission} for {facts:?}"
                );
            }
        }
    }

    #[test]
    fn each_permission_has_one_rule_after_those_that_imply_it() {
        for permission in Permission::ALL {
            let ruled = RULES.iter().filter(|(ruled, _)| *ruled == permission).count();
            assert_eq!(ruled, 1, "{permission}");
        }
        for (index, (permission, sources)) in RULES.iter().enumerate() {
            for source in *sources {
                if let Source::Implied(stronger) = source {
                    let above = RULES.iter().position(|(ruled, _)| ruled == stronger).unwrap();
                    assert!(above < index, "{permission} comes before {stronger}");
                }
            }
        }
    }

    #[test]
    fn traces_each_granted_permission_to_a_fact() {
        // Pairs of facts reach every chain; larger sets only repeat them.
        for one in all_facts() {
            for other in all_facts() {
                let facts = FactSet::default().with(one, true).with(other, true);
                let decision = decide(facts);
                for permission in Permission::ALL {
                    let why = decision.why(permission);
                    match why.last() {
                        None => assert!(!decision.permissions().contains(permission)),
                        Some(Source::Fact(fact)) => assert!(facts.holds(*fact)),
                        Some(Source::Implied(_)) => panic!("{permission} is granted for no fact: {why:?}"),
                    }
                    if let [Source::Implied(stronger), ..] = why.as_slice() {
                        assert!(decision.permissions().contains(*stronger));
                    }
                }
            }
        }
    }

    #[test]
    fn exactly_the_granting_facts_grant_a_permission_alone() {
        for permission in Permission::ALL {
            let granting = facts_granting(permission);
            for fact in all_facts() {
                let alone = decide(FactSet::default().with(fact, true)).permissions();
                assert_eq!(granting.contains(&fact), alone.contains(permission), "{fact:?}, {permission}");
            }
        }
        let nearest = [Fact::Bound(RoleKey::Mod), Fact::Bound(RoleKey::Admin), Fact::OwnsGuild];
        assert_eq!(facts_granting(Permission::Mod)[..3], nearest);
    }
}
