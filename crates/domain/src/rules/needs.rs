//! What a user needs to have a permission in a guild.

use crate::{
    model::{Outline, RoleBindings, RoleId},
    policy::{Fact, Permission, facts_granting},
};
use std::{borrow::Cow, fmt::Write as _};

/// Roles above which a sentence only counts the others.
const MAX_NAMED: usize = 4;

/// What grants a permission in a guild. One of the facts is enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Needs {
    /// The facts that grant it, the nearest first. Those about roles are left out if the guild binds none.
    pub facts: Vec<Fact>,
    /// The roles of the guild that those facts are about.
    pub roles: Vec<RoleId>,
    /// Whether a role could grant it, but the guild binds none.
    pub lacks_roles: bool,
}

/// A part of a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Words {
    /// Text.
    Text(Cow<'static, str>),
    /// The name of a role.
    Role(RoleId),
}

impl Needs {
    /// Returns what grants a permission in a guild with these bindings.
    #[must_use]
    pub fn of(permission: Permission, bindings: &RoleBindings) -> Self {
        let mut needs = Self { facts: Vec::new(), roles: Vec::new(), lacks_roles: false };
        for fact in facts_granting(permission) {
            if let Fact::Bound(key) = fact {
                let roles = bindings.roles(key);
                needs.lacks_roles = needs.roles.is_empty() && roles.is_empty();
                if roles.is_empty() {
                    continue;
                }
                let others = roles.iter().filter(|role| !needs.roles.contains(role)).copied();
                needs.roles.extend(others.collect::<Vec<_>>());
            }
            needs.facts.push(fact);
        }
        needs
    }

    /// Returns it as a sentence. Ownership and Administrator are not named, because they include Manage Server.
    #[must_use]
    pub fn sentence(&self) -> Vec<Words> {
        let text = |text: &'static str| Words::Text(text.into());
        let mut words = vec![text("Needs ")];
        let (named, others) = self.roles.split_at(self.roles.len().min(MAX_NAMED));
        for (place, role) in named.iter().enumerate() {
            let is_last = place + 1 == named.len() && others.is_empty();
            words.push(text(match place {
                0 => "the role ",
                _ if is_last => " or ",
                _ => ", ",
            }));
            words.push(Words::Role(*role));
        }
        if !others.is_empty() {
            words.push(Words::Text(format!(" or one of {} other roles", others.len()).into()));
        }
        // Several grants read the same.
        let mut others: Vec<_> = self.facts.iter().filter_map(|fact| need(*fact)).collect();
        others.dedup();
        for other in others {
            words.extend((words.len() > 1).then(|| text(", or ")));
            words.push(text(other));
        }
        words.push(text(if self.lacks_roles { ". No role here gives it." } else { "." }));
        words
    }

    /// Returns the sentence as plain text, with the names of roles or else their ids.
    #[must_use]
    pub fn text(&self, outline: Option<&Outline>) -> String {
        let mut sentence = String::new();
        for words in self.sentence() {
            let _ = match words {
                Words::Text(text) => write!(sentence, "{text}"),
                Words::Role(id) => match outline.and_then(|outline| outline.role(id)) {
                    Some(role) => write!(sentence, "@{}", role.name),
                    None => write!(sentence, "{id}"),
                },
            };
        }
        sentence
    }
}

/// Returns a fact as what is needed. `None` if roles or Manage Server stand for it.
const fn need(fact: Fact) -> Option<&'static str> {
    match fact {
        Fact::Bound(_) | Fact::OwnsGuild | Fact::PlatformAdministrator => None,
        Fact::PlatformManageServer => Some("Manage Server"),
        Fact::GuildSetUp => Some("the bot to be set up here"),
        Fact::GuildLinked => Some("a linked game server"),
        Fact::GuildHasPlus => Some("a subscription that covers this guild"),
        Fact::UserHasPlus => Some("a personal subscription"),
        Fact::Granted(_) => Some("the bot's team to grant it"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        model::{Entries, GuildId, OutlineRole, RoleSet},
        policy::RoleKey,
    };

    fn bindings(bound: &[(RoleKey, &[u64])]) -> RoleBindings {
        let roles = |ids: &[u64]| ids.iter().map(|id| RoleId::new(*id).unwrap()).collect();
        RoleBindings::new(bound.iter().map(|(key, ids)| (*key, RoleSet::new(roles(ids)).unwrap())))
    }

    #[test]
    fn names_roles_and_what_else_grants_a_permission() {
        let outline = Outline {
            guild: GuildId::new(1).unwrap(),
            channels: Entries::new(Vec::new()).unwrap(),
            roles: Entries::new(vec![OutlineRole {
                id: RoleId::new(5).unwrap(),
                name: "Moderator".parse().unwrap(),
                colour: None,
            }])
            .unwrap(),
        };
        let (moderators, many) = ([(RoleKey::Mod, &[5][..])], [1, 2, 3, 4, 5, 6]);
        let both = [(RoleKey::Mod, &[5][..]), (RoleKey::Admin, &[5, 7][..])];
        for (permission, bound, expected) in [
            (Permission::Mod, &moderators[..], "Needs the role @Moderator, or Manage Server."),
            (Permission::Mod, &both, "Needs the role @Moderator or 7, or Manage Server."),
            (Permission::Admin, &moderators, "Needs Manage Server. No role here gives it."),
            (
                Permission::Admin,
                &[(RoleKey::Admin, &many)],
                "Needs the role 1, 2, 3, 4 or one of 2 other roles, or Manage Server.",
            ),
            (Permission::ManageServer, &both, "Needs Manage Server."),
            (Permission::Setup, &[], "Needs the bot to be set up here."),
            (Permission::Support, &[], "Needs the bot's team to grant it."),
            (Permission::ServicePlusMember, &[], "Needs a personal subscription."),
        ] {
            let needs = Needs::of(permission, &bindings(bound));
            assert_eq!(needs.text(Some(&outline)), expected, "{permission}");
        }
    }
}
