//! Permissions in people's words: a label, a line about it, and a group.

use companion_domain::policy::Permission;
use std::collections::BTreeMap;

/// What a bot says of one of its permissions instead of the built-in words. What is absent stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PermissionText {
    /// A few words that name it.
    pub label: Option<String>,
    /// What it lets people do, in one sentence.
    pub about: Option<String>,
    /// The heading it is listed under.
    pub group: Option<String>,
}

/// Texts by permission. `None` hides a permission.
pub type PermissionTexts = BTreeMap<Permission, Option<PermissionText>>;

/// The words of a permission that is shown.
#[derive(Debug, Clone)]
pub(crate) struct Wording {
    pub(crate) permission: Permission,
    pub(crate) group: String,
    pub(crate) label: String,
    pub(crate) about: String,
}

/// The words of all permissions, in the order in which they are shown.
#[derive(Debug, Clone)]
pub(crate) struct Wordings(Vec<(Wording, bool)>);

impl Wordings {
    /// Combines the built-in words with those of the bot.
    pub(crate) fn new(texts: &PermissionTexts) -> Self {
        let wording = |(permission, group, label, about): (Permission, &str, &str, &str)| {
            let given = texts.get(&permission);
            let text = given.cloned().flatten().unwrap_or_default();
            let or = |given: Option<String>, own: &str| given.unwrap_or_else(|| own.to_owned());
            let wording = Wording {
                permission,
                group: or(text.group, group),
                label: or(text.label, label),
                about: or(text.about, about),
            };
            (wording, given != Some(&None))
        };
        Self(BUILT_IN.map(wording).into())
    }

    /// Iterates over those that are shown.
    pub(crate) fn shown(&self) -> impl Iterator<Item = &Wording> {
        self.0.iter().filter(|(_, is_shown)| *is_shown).map(|(wording, _)| wording)
    }

    /// Returns whether a permission is shown.
    pub(crate) fn shows(&self, permission: Permission) -> bool {
        self.shown().any(|wording| wording.permission == permission)
    }

    /// Returns the label of a permission, shown or not.
    pub(crate) fn label(&self, permission: Permission) -> &str {
        let found = self.0.iter().find(|(wording, _)| wording.permission == permission);
        found.map_or(permission.as_str(), |(wording, _)| &wording.label)
    }
}

/// Each permission with its group, label and what it is about, in the order in which they are shown.
const BUILT_IN: [(Permission, &str, &str, &str); 20] = {
    use Permission as P;
    const SERVER: &str = "Server";
    const MODERATION: &str = "Moderation";
    const GAME: &str = "Game server";
    const PREMIUM: &str = "Premium";
    const STAFF: &str = "Bot staff";
    [
        (P::ManageServer, SERVER, "Manage the bot", "Change every setting of the bot here."),
        (P::Setup, SERVER, "Ready to use", "Everyone can use the bot's commands here."),
        (P::Admin, MODERATION, "Administrator", "Use the bot's administration and moderation commands."),
        (P::Mod, MODERATION, "Moderator", "Use the bot's moderation commands."),
        (P::ErlcManager, GAME, "Game manager", "Manage the game server through the bot."),
        (P::ErlcAdmin, GAME, "Game administrator", "Use the administration commands of the game server."),
        (P::ErlcStaff, GAME, "Game staff", "Use the staff commands of the game server."),
        (P::SessionStarter, GAME, "Start sessions", "Start and end sessions on the game server."),
        (P::ErlcLinked, GAME, "Linked", "Commands for the game server work here."),
        (P::ServicePlusGuild, PREMIUM, "Premium here", "Premium features are on for everyone here."),
        (P::ServicePlusMember, PREMIUM, "Premium member", "Give premium to guilds of your choice."),
        (P::Founder, STAFF, "Founder", "Founded the bot."),
        (P::BotDeveloper, STAFF, "Bot developer", "Develops the bot."),
        (P::Executive, STAFF, "Executive", "Leads the team of the bot."),
        (P::Management, STAFF, "Management", "Manages the team of the bot."),
        (P::WebDeveloper, STAFF, "Web developer", "Develops this site."),
        (P::Support, STAFF, "Support", "Answers questions about the bot."),
        (P::ServiceStaff, STAFF, "Staff", "Belongs to the team of the bot."),
        (P::QualityAssurance, STAFF, "Quality assurance", "Tests the bot before everyone else gets it."),
        (P::Docwriter, STAFF, "Documentation writer", "Writes the documentation of the bot."),
    ]
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_permission_has_words_of_its_own() {
        let mut permissions = BUILT_IN.map(|(permission, ..)| permission);
        permissions.sort_unstable();
        assert_eq!(permissions, Permission::ALL);
        let mut labels = BUILT_IN.map(|(_, _, label, _)| label);
        labels.sort_unstable();
        assert!(labels.windows(2).all(|pair| pair[0] != pair[1]), "{labels:?}");
    }
}
