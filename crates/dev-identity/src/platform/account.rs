//! Users and the guilds they are in, in the platform's shapes.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A user, and the guilds the user is in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Account {
    /// The platform's id; decimal text in JSON.
    #[serde(with = "decimal_text")]
    pub id: u64,
    /// The unique name.
    pub username: String,
    /// The name that others see, where there is one.
    #[serde(default)]
    pub global_name: Option<String>,
    /// The hash of the picture, where there is one; `a_` before it means that it moves.
    #[serde(default)]
    pub avatar: Option<String>,
    /// The guilds, in any order.
    #[serde(default)]
    pub guilds: Vec<AccountGuild>,
}

/// A guild, as one user sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccountGuild {
    /// The platform's id; decimal text in JSON.
    #[serde(with = "decimal_text")]
    pub id: u64,
    /// Its name.
    pub name: String,
    /// The hash of its icon, where there is one.
    #[serde(default)]
    pub icon: Option<String>,
    /// Whether the user owns it.
    #[serde(default)]
    pub owner: bool,
    /// What the user may do there; decimal text in JSON.
    #[serde(with = "decimal_text", default)]
    pub permissions: u64,
}

impl Account {
    /// What `/users/@me` says.
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "id": self.id.to_string(),
            "username": self.username,
            "discriminator": "0",
            "global_name": self.global_name,
            "avatar": self.avatar,
            "avatar_decoration_data": null,
            "banner": null,
            "accent_color": null,
            "public_flags": 0,
            "flags": 0,
            "premium_type": 0,
            "mfa_enabled": false,
            "locale": "en-GB",
        })
    }

    /// A page of what `/users/@me/guilds` says: so many guilds at most, those after an id, by ascending id.
    pub(crate) fn guild_page(&self, after: u64, limit: usize) -> Vec<Value> {
        let mut guilds: Vec<_> = self.guilds.iter().filter(|guild| guild.id > after).collect();
        guilds.sort_by_key(|guild| guild.id);
        guilds.into_iter().take(limit).map(AccountGuild::to_json).collect()
    }
}

impl AccountGuild {
    fn to_json(&self) -> Value {
        json!({
            "id": self.id.to_string(),
            "name": self.name,
            "icon": self.icon,
            "banner": null,
            "owner": self.owner,
            "permissions": self.permissions.to_string(),
            "features": [],
        })
    }
}

mod decimal_text {
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    pub(super) fn serialize<S: Serializer>(number: &u64, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(number)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map_err(|_| D::Error::custom("must be a decimal number as text"))
    }
}
