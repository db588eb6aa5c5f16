//! Why the user has a permission, in words.

use companion_domain::{
    model::RoleKey,
    policy::{Fact, Permission, Source},
    port::GuildWithRoles,
    usecase::Explanation,
};

/// A permission and the reason it is granted or not.
pub(crate) struct PermissionView {
    pub(crate) name: &'static str,
    pub(crate) granted: bool,
    pub(crate) reason: String,
}

impl PermissionView {
    /// Returns all permissions, the granted ones first.
    pub(crate) fn all(explanation: &Explanation) -> Vec<Self> {
        let mut all: Vec<_> =
            Permission::ALL.iter().map(|permission| Self::of(*permission, explanation)).collect();
        all.sort_by_key(|view| !view.granted);
        all
    }

    fn of(permission: Permission, explanation: &Explanation) -> Self {
        let mut through = None;
        let mut reason = "Nothing grants it to you here.".to_owned();
        let sources = explanation.verdict.decision.why(permission);
        for source in &sources {
            match source {
                // The nearest is enough: its own reason is shown in its own row.
                Source::Implied(other) => through = through.or(Some(*other)),
                Source::Fact(fact) => {
                    let fact = because(*fact, explanation.seen.as_ref());
                    reason = match through {
                        Some(other) => format!("Comes with {other}, {fact}."),
                        None => format!("Granted {fact}."),
                    };
                }
            }
        }
        Self { name: permission.as_str(), granted: !sources.is_empty(), reason }
    }
}

fn because(fact: Fact, seen: Option<&GuildWithRoles>) -> String {
    match fact {
        Fact::OwnsGuild => "because you own this guild".to_owned(),
        Fact::PlatformAdministrator => "because the platform gives you Administrator here".to_owned(),
        Fact::PlatformManageServer => "because the platform gives you Manage Server here".to_owned(),
        Fact::Bound(key) => bound(key, seen),
        Fact::GuildSetUp => "because the bot is set up in this guild".to_owned(),
        Fact::GuildLinked => "because this guild is linked to a game server".to_owned(),
        Fact::GuildHasPlus => "because a subscription covers this guild".to_owned(),
        Fact::UserHasPlus => "because you have a subscription".to_owned(),
        Fact::Granted(_) => "because the team gave it to you by name".to_owned(),
    }
}

fn bound(key: RoleKey, seen: Option<&GuildWithRoles>) -> String {
    let held = |seen: &GuildWithRoles| {
        let bound = seen.guild.bindings.iter().filter(|(bound, _)| *bound == key);
        let roles = bound.flat_map(|(_, roles)| roles.as_slice());
        let held: Vec<_> =
            roles.filter(|role| seen.roles.as_slice().contains(role)).map(ToString::to_string).collect();
        held.join(" and ")
    };
    format!(
        "because you have the role {}, which this guild binds to {key}",
        seen.map(held).unwrap_or_default()
    )
}

/// Returns what gives a permission, as a sentence.
pub(crate) const fn given_by(permission: Permission) -> &'static str {
    match permission {
        Permission::ManageServer => {
            "Owning this guild gives it, and so does Administrator or Manage Server on the platform."
        }
        Permission::Admin
        | Permission::Mod
        | Permission::ErlcManager
        | Permission::ErlcAdmin
        | Permission::ErlcStaff
        | Permission::SessionStarter => {
            "Managing this guild gives it, and so does a role that it binds to it."
        }
        Permission::Setup => "Setting up the bot in this guild gives it.",
        Permission::ErlcLinked => "Linking this guild to a game server gives it.",
        Permission::ServicePlusGuild => "A subscription that covers this guild gives it.",
        Permission::ServicePlusMember => "A subscription of your own gives it.",
        Permission::Founder
        | Permission::BotDeveloper
        | Permission::Executive
        | Permission::Management
        | Permission::WebDeveloper
        | Permission::Support
        | Permission::ServiceStaff
        | Permission::QualityAssurance
        | Permission::Docwriter => "Only the team of the bot gives it.",
    }
}
