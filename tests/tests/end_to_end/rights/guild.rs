//! One guild: as the platform lists it, as the bot reports it, and as it must be shown.

use super::stage::Stage;
use companion_dev_identity::AccountGuild;
use serde_json::{Map, Value, json};

/// The contract's permission keys.
pub(crate) const PERMISSIONS: [&str; 20] = [
    "ERLC_STAFF",
    "SERVICE_PLUS_GUILD",
    "QUALITY_ASSURANCE",
    "ERLC_ADMIN",
    "DOCWRITER",
    "FOUNDER",
    "ERLC_MANAGER",
    "MANAGE_SERVER",
    "EXECUTIVE",
    "BOT_DEVELOPER",
    "WEB_DEVELOPER",
    "SETUP",
    "SESSION_STARTER",
    "MOD",
    "SUPPORT",
    "MANAGEMENT",
    "ADMIN",
    "SERVICE_STAFF",
    "ERLC_LINKED",
    "SERVICE_PLUS_MEMBER",
];

/// Whoever may manage a guild may do all of this in it.
pub(crate) const MANAGING: [&str; 7] =
    ["MANAGE_SERVER", "ADMIN", "ERLC_MANAGER", "SESSION_STARTER", "MOD", "ERLC_ADMIN", "ERLC_STAFF"];

/// The owner that the bot reports, who is nobody else in these tests.
const OWNER: &str = "42";

/// A guild of the bot. One id stands for all that there is to know of it.
#[derive(Clone, Copy)]
pub(crate) struct Guild(pub(crate) u64);

impl Guild {
    pub(crate) fn name(self) -> String {
        format!("Guild {}", self.0)
    }

    /// As the platform lists it to a member.
    pub(crate) fn joined(self, owner: bool, permissions: u64) -> AccountGuild {
        AccountGuild {
            id: self.0,
            name: "As the platform calls it".to_owned(),
            icon: None,
            owner,
            permissions,
        }
    }

    /// As the bot reports it, with these bound roles; each key is bound to one platform role.
    pub(crate) fn reported(self, roles: &[(&str, u64)]) -> Value {
        let roles: Map<_, _> =
            roles.iter().map(|(key, role)| ((*key).to_owned(), json!([role.to_string()]))).collect();
        json!({
            "name": self.name(), "icon": self.icon(), "members": self.0, "owner": OWNER,
            "setup": false, "linked": false, "roles": roles,
        })
    }

    /// As it must be shown to someone with this role who was granted this, and without a subscription.
    pub(crate) fn shown(self, role: &str, granted: &[&str]) -> Value {
        assert!(granted.iter().all(|permission| PERMISSIONS.contains(permission)));
        let permissions: Map<_, _> =
            PERMISSIONS.iter().map(|key| ((*key).to_owned(), granted.contains(key).into())).collect();
        json!({
            "name": self.name(), "id": self.0.to_string(), "icon": self.icon(), "members": self.0, "owner": OWNER,
            "role": role, "service": true,
            "plus": {"plus": {"userid": "", "guilds": [], "slots": 0}, "active": false},
            "permissions": permissions,
        })
    }

    fn icon(self) -> String {
        format!("https://cdn.example/icons/{}/a.png", self.0)
    }
}

impl Stage {
    /// The bot reports a guild with these bound roles.
    pub(crate) async fn reports(&self, guild: Guild, roles: &[(&str, u64)]) {
        self.manage("PUT", &format!("/bot/guilds/{}", guild.0), &guild.reported(roles).to_string()).await;
    }

    /// The bot reports which platform roles a member has.
    pub(crate) async fn reports_member(&self, guild: Guild, user: u64, roles: &[u64]) {
        let roles: Vec<_> = roles.iter().map(ToString::to_string).collect();
        let path = format!("/bot/guilds/{}/members/{user}", guild.0);
        self.manage("PUT", &path, &json!({"roles": roles}).to_string()).await;
    }

    /// The bot left the guild.
    pub(crate) async fn reports_departure(&self, guild: Guild) {
        self.manage("DELETE", &format!("/bot/guilds/{}", guild.0), "").await;
    }
}
