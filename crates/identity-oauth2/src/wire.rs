//! The platform's JSON, and what becomes of it.
//!
//! Unknown fields are ignored and optional ones may be missing, because the platform grows. A field of the wrong type
//! is refused, because then it is no longer the platform that we know.

use crate::failure::Trouble;
use companion_domain::model::{GuildId, Membership, Name, PictureServer, PlatformPermissions, User, UserId};
use serde::{Deserialize, de::DeserializeOwned};

/// How many guilds are asked for at once: the most that the platform gives.
pub(crate) const PAGE: usize = 200;
/// The longest hash of a picture.
const HASH_LENGTH: usize = 64;

pub(crate) fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Trouble> {
    serde_json::from_slice(body).map_err(|error| Trouble::of_json(&error))
}

/// The user behind a token.
#[derive(Deserialize)]
pub(crate) struct WireUser {
    id: String,
    username: String,
    #[serde(default)]
    global_name: Option<String>,
    #[serde(default)]
    avatar: Option<String>,
}

impl WireUser {
    pub(crate) fn into_user(self, pictures: &PictureServer) -> Result<User, Trouble> {
        let id: UserId = self.id.parse().map_err(|_| Trouble::Nonsense("a user without an id"))?;
        let username: Name = self.username.parse().map_err(|_| Trouble::Nonsense("a user without a name"))?;
        // An empty name is none.
        let name = self.global_name.and_then(|name| name.parse().ok());
        let picture = match self.avatar.filter(|hash| is_hash(hash)) {
            Some(hash) => pictures.avatar(id, &hash),
            None => pictures.default_picture(id.get()),
        };
        Ok(User {
            id,
            name: name.unwrap_or_else(|| username.clone()),
            username,
            avatar: picture.parse().map_err(|_| Trouble::Nonsense("a picture without an address"))?,
        })
    }
}

/// What may become part of an address. Anything else would be a way to write another one.
fn is_hash(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    (1..=HASH_LENGTH).contains(&text.len()) && text.bytes().all(plain)
}

/// A guild in the list of a user's guilds.
#[derive(Deserialize)]
pub(crate) struct WireGuild {
    id: String,
    #[serde(default)]
    owner: bool,
    #[serde(default = "nothing_allowed")]
    permissions: String,
}

fn nothing_allowed() -> String {
    "0".to_owned()
}

impl WireGuild {
    pub(crate) fn membership(&self) -> Result<Membership, Trouble> {
        let guild: GuildId = self.id.parse().map_err(|_| Trouble::Nonsense("a guild without an id"))?;
        let permissions: PlatformPermissions =
            self.permissions.parse().map_err(|_| Trouble::Nonsense("permissions that are no number"))?;
        Ok(Membership { guild, owner: self.owner, permissions })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(json: &str) -> Result<User, Trouble> {
        let pictures = PictureServer::new("https://cdn.example/".parse().unwrap());
        read::<WireUser>(json.as_bytes())?.into_user(&pictures)
    }

    fn guild(json: &str) -> Result<Membership, Trouble> {
        read::<WireGuild>(json.as_bytes())?.membership()
    }

    #[test]
    fn the_display_name_is_the_global_one_or_else_the_username() {
        for (global_name, name) in [
            (r#", "global_name": "Zoë \ud83e\udd8a""#, "Zoë 🦊"),
            (r#", "global_name": null"#, "sample"),
            (r#", "global_name": """#, "sample"),
            ("", "sample"),
        ] {
            let user = user(&format!(r#"{{"id": "7", "username": "sample"{global_name}}}"#)).unwrap();
            assert_eq!((user.username.as_str(), user.name.as_str()), ("sample", name));
        }
    }

    #[test]
    fn a_picture_is_the_users_own_or_the_default_one_for_the_id() {
        let id = 3_u64 << 22;
        let own = |hash: &str| format!("https://cdn.example/avatars/{id}/{hash}");
        let default = "https://cdn.example/embed/avatars/3.png".to_owned();
        for (avatar, address) in [
            (r#", "avatar": "0a1b""#, own("0a1b.png")),
            (r#", "avatar": "a_0a1b""#, own("a_0a1b.gif")),
            (r#", "avatar": null"#, default.clone()),
            (r#", "avatar": """#, default.clone()),
            (r#", "avatar": "../../evil?""#, default.clone()),
            ("", default),
        ] {
            let user = user(&format!(r#"{{"id": "{id}", "username": "sample"{avatar}}}"#)).unwrap();
            assert_eq!(user.avatar.as_str(), address);
        }
    }

    #[test]
    fn unknown_fields_are_ignored() {
        assert!(
            user(r#"{"id": "7", "username": "s", "new": {"deep": [1, null]}, "discriminator": "0"}"#).is_ok()
        );
        assert!(guild(r#"{"id": "7", "name": "g", "icon": null, "features": [], "owner": true}"#).is_ok());
    }

    #[test]
    fn a_user_of_another_shape_is_refused() {
        for json in [
            "",
            "null",
            "[]",
            r#"{"id": "7"}"#,
            r#"{"username": "s"}"#,
            r#"{"id": 7, "username": "s"}"#,
            r#"{"id": "0", "username": "s"}"#,
            r#"{"id": "x", "username": "s"}"#,
            r#"{"id": "7", "username": ""}"#,
            r#"{"id": "7", "username": null}"#,
            r#"{"id": "7", "username": "s", "global_name": 5}"#,
            r#"{"id": "7", "username": "s", "avatar": {}}"#,
            r#"{"id": "7", "username": "s"} and more"#,
        ] {
            assert!(user(json).is_err(), "{json}");
        }
    }

    #[test]
    fn permissions_are_64_bits_as_text_and_whatever_is_missing_is_not_granted() {
        let all = guild(r#"{"id": "7", "owner": true, "permissions": "18446744073709551615"}"#).unwrap();
        assert_eq!((all.owner, all.permissions.bits()), (true, u64::MAX));
        let none = guild(r#"{"id": "7"}"#).unwrap();
        assert_eq!((none.owner, none.permissions.bits()), (false, 0));
        for json in [
            r#"{"id": "7", "permissions": 8}"#,
            r#"{"id": "7", "permissions": null}"#,
            r#"{"id": "7", "permissions": "-1"}"#,
            r#"{"id": "7", "permissions": "18446744073709551616"}"#,
            r#"{"id": "7", "owner": "true"}"#,
            r#"{"id": 7}"#,
            r"{}",
        ] {
            assert!(guild(json).is_err(), "{json}");
        }
    }

    #[test]
    fn an_error_says_where_and_never_what() {
        let error = read::<WireUser>(br#"{"id": "canary", "username": 5}"#).err().unwrap();
        assert_eq!(
            error.to_string(),
            "the answer is not what it should be: JSON of another shape, line 1, column 30"
        );
        assert!(!format!("{error:?}").contains("canary"));
    }
}
