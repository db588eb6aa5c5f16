//! The platform's JSON, and its conversion to domain values.
//!
//! Unknown fields are ignored, and optional ones may be missing or null, because the platform evolves. A field of the
//! wrong type is rejected, because the API has then changed incompatibly. In a list it costs only its own row.

use crate::client::{failed, of_json};
use companion_domain::{
    model::{GuildId, Membership, Name, NamedGuild, PictureServer, PlatformPermissions, User, UserId},
    port::IdentityError,
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

/// Number of guilds per page: the maximum that the platform allows.
pub(crate) const PAGE_SIZE: usize = 200;
/// Maximum length of a picture hash.
const MAX_HASH_LENGTH: usize = 64;

pub(crate) fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, IdentityError> {
    serde_json::from_slice(body).map_err(|error| of_json(&error))
}

/// The user of a token.
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
    pub(crate) fn into_user(self, pictures: &PictureServer) -> Result<User, IdentityError> {
        let id: UserId =
            self.id.parse().map_err(|_| failed("the answer is invalid: a user without an id"))?;
        let username: Name =
            self.username.parse().map_err(|_| failed("the answer is invalid: a user without a name"))?;
        // An empty name counts as absent.
        let name = self.global_name.and_then(|name| name.parse().ok());
        let picture = match self.avatar.filter(|hash| is_hash(hash)) {
            Some(hash) => pictures.avatar(id, &hash),
            None => pictures.default_picture(id.get()),
        };
        Ok(User {
            id,
            name: name.unwrap_or_else(|| username.clone()),
            username,
            avatar: picture
                .parse()
                .map_err(|_| failed("the answer is invalid: a picture without an address"))?,
        })
    }
}

/// Returns whether the text may become part of a URL. Other characters could change the URL.
fn is_hash(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    (1..=MAX_HASH_LENGTH).contains(&text.len()) && text.bytes().all(plain)
}

/// A page of a user's guild list.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Page {
    /// The readable rows.
    pub(crate) memberships: Vec<Membership>,
    /// The names of these rows, as far as they are readable.
    pub(crate) names: Vec<NamedGuild>,
    /// Number of unreadable rows.
    pub(crate) unreadable: usize,
    /// The highest id of all rows, after which the next page begins. `None` if this is the last page.
    pub(crate) next_after: Option<GuildId>,
}

impl Page {
    pub(crate) fn read(body: &[u8], pictures: &PictureServer) -> Result<Self, IdentityError> {
        let rows: Option<Vec<Value>> = read(body)?;
        let rows = rows.unwrap_or_default();
        let memberships: Vec<_> = rows.iter().filter_map(membership).collect();
        let unreadable = rows.len() - memberships.len();
        let next_after = if rows.len() < PAGE_SIZE {
            None
        } else {
            // A full page is not the last one, however few of its rows are readable.
            let newest = rows.iter().filter_map(id).max();
            Some(newest.ok_or_else(|| failed("the answer is invalid: a page of guilds without ids"))?)
        };
        let readable = rows.iter().filter(|row| membership(row).is_some());
        let names = readable.filter_map(|row| named(row, pictures)).collect();
        Ok(Self { memberships, names, unreadable, next_after })
    }
}

/// Reads the name and the icon of a guild in the list. Returns `None` if the name is unreadable.
fn named(row: &Value, pictures: &PictureServer) -> Option<NamedGuild> {
    let guild = id(row)?;
    let name = row.get("name")?.as_str()?.parse().ok()?;
    let hash = row.get("icon").and_then(Value::as_str).filter(|hash| is_hash(hash));
    let icon = hash.and_then(|hash| pictures.icon(guild, hash).parse().ok());
    Some(NamedGuild { guild, name, icon })
}

fn id(row: &Value) -> Option<GuildId> {
    row.get("id")?.as_str()?.parse().ok()
}

/// Converts a row of the list. Returns `None` if it is unreadable.
fn membership(row: &Value) -> Option<Membership> {
    let owner = match row.get("owner") {
        None | Some(Value::Null) => false,
        Some(owner) => owner.as_bool()?,
    };
    let permissions = match row.get("permissions") {
        None | Some(Value::Null) => PlatformPermissions::default(),
        Some(permissions) => permissions.as_str()?.parse().ok()?,
    };
    Some(Membership { guild: id(row)?, owner, permissions })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token_endpoint;
    use companion_domain::model::Timestamp;
    use companion_testkit::hostile::{Hostile, count};
    use oauth2::basic::{BasicErrorResponse, BasicTokenResponse};

    fn pictures() -> PictureServer {
        PictureServer::new("https://cdn.example/".parse().unwrap())
    }

    fn user(json: &str) -> Result<User, IdentityError> {
        read::<WireUser>(json.as_bytes())?.into_user(&pictures())
    }

    fn page(json: &str) -> Result<Page, IdentityError> {
        Page::read(json.as_bytes(), &pictures())
    }

    fn guild(json: &str) -> Option<Membership> {
        let page = page(&format!("[{json}]")).unwrap();
        assert_eq!(page.memberships.len() + page.unreadable, 1);
        page.memberships.first().copied()
    }

    #[test]
    fn guilds_are_named_without_trusting_the_hash() {
        let page = page(
            r#"[{"id": "7", "name": "Zo\u00eb", "icon": "a_0f"}, {"id": "8", "name": "Plain", "icon": "../x"},
                {"id": "9", "name": ""}, {"id": "10"}, {"id": "x", "name": "Lost"}]"#,
        );
        let icon = |named: NamedGuild| named.icon.map(|icon| icon.to_string());
        let named = page.unwrap().names.into_iter();
        let named: Vec<_> =
            named.map(|named| (named.guild.get(), named.name.to_string(), icon(named))).collect();
        let expected = [
            (7, "Zoë".to_owned(), Some("https://cdn.example/icons/7/a_0f.png".to_owned())),
            (8, "Plain".to_owned(), None),
        ];
        assert_eq!(named, expected);
    }

    #[test]
    fn optional_fields_of_a_user_fall_back_and_unknown_ones_are_ignored() {
        let id = 3_u64 << 22;
        let own = |hash: &str| format!("https://cdn.example/avatars/{id}/{hash}");
        let default = "https://cdn.example/embed/avatars/3.png".to_owned();
        for (fields, name, picture) in [
            (r#""global_name": "Zoë \ud83e\udd8a", "avatar": "0a1b""#, "Zoë 🦊", own("0a1b.png")),
            (r#""global_name": null, "avatar": "a_0a1b""#, "sample", own("a_0a1b.gif")),
            (r#""global_name": "", "avatar": null"#, "sample", default.clone()),
            (r#""avatar": """#, "sample", default.clone()),
            (r#""avatar": "../../evil?""#, "sample", default.clone()),
            (r#""new": {"deep": [1, null]}, "discriminator": "0""#, "sample", default),
        ] {
            let user = user(&format!(r#"{{"id": "{id}", "username": "sample", {fields}}}"#)).unwrap();
            assert_eq!((user.username.as_str(), user.name.as_str()), ("sample", name), "{fields}");
            assert_eq!(user.avatar.as_str(), picture, "{fields}");
        }
    }

    #[test]
    fn rejects_a_user_of_another_shape() {
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
    fn permissions_are_decimal_text_and_default_to_none() {
        let all = guild(r#"{"id": "7", "owner": true, "permissions": "18446744073709551615"}"#).unwrap();
        assert_eq!((all.owner, all.permissions.bits()), (true, u64::MAX));
        for json in [
            r#"{"id": "7"}"#,
            r#"{"id": "7", "icon": null, "features": [], "owner": false}"#,
            r#"{"id": "7", "owner": null, "permissions": null}"#,
            r#"{"id": "7", "permissions": "36893488147419103232"}"#,
        ] {
            let none = guild(json).unwrap();
            assert_eq!((none.owner, none.permissions.bits()), (false, 0), "{json}");
        }
        for json in [
            r#"{"id": "7", "permissions": 8}"#,
            r#"{"id": "7", "permissions": "-1"}"#,
            r#"{"id": "7", "permissions": ""}"#,
            r#"{"id": "7", "owner": "true"}"#,
            r#"{"id": 7}"#,
            r#"{"id": "0"}"#,
            r"{}",
            "null",
            "[]",
            "7",
        ] {
            assert_eq!(guild(json), None, "{json}");
        }
    }

    #[test]
    fn null_is_an_empty_list_and_other_types_are_rejected() {
        let empty = Page { memberships: Vec::new(), names: Vec::new(), unreadable: 0, next_after: None };
        for json in ["null", "[]"] {
            assert_eq!(page(json).unwrap(), empty, "{json}");
        }
        for json in ["", "{}", "7", r#""no""#, "[", r#"{"message": "no"}"#] {
            assert!(page(json).is_err(), "{json}");
        }
    }

    #[test]
    fn a_full_page_is_followed_by_another_even_if_unreadable() {
        let with = |odd: &str| {
            let mut rows: Vec<_> = (1..200).map(|id| format!(r#"{{"id": "{id}"}}"#)).collect();
            rows.push(odd.to_owned());
            page(&format!("[{}]", rows.join(","))).unwrap()
        };
        for (odd, next_after) in [
            (r#"{"id": "200"}"#, 200),
            (r#"{"id": "200", "permissions": 8}"#, 200),
            (r#"{"id": 200}"#, 199),
            ("null", 199),
        ] {
            assert_eq!(with(odd).next_after.map(GuildId::get), Some(next_after), "{odd}");
        }
        let nothing = format!("[{}]", vec!["null"; 200].join(","));
        assert!(page(&nothing).is_err(), "no id to continue after");
    }

    #[test]
    fn an_error_shows_the_position_and_not_the_content() {
        let error = read::<WireUser>(br#"{"id": "canary", "username": 5}"#).err().unwrap();
        assert_eq!(
            error.cause.to_string(),
            "the answer cannot be read: JSON of another shape, line 1, column 30"
        );
        assert!(!format!("{error:?}").contains("canary"));
    }

    /// Damaged inputs per kind of response: each is parsed or rejected, and none panics.
    const USUAL: u64 = 5000;
    /// The same in the full run.
    const FULL: u64 = 8_000_000;

    fn each(what: &str, samples: &[&str], mut reader: impl FnMut(&[u8]) -> bool) {
        let mut hostile = Hostile::new(samples, 1);
        let inputs = count(USUAL, FULL);
        let read = (0..inputs).filter(|_| reader(hostile.bytes())).count();
        println!("hostile: {inputs} answers of the platform, {what}, {read} of them read: no panic");
        assert!(read as u64 > inputs / 20, "{read} of {inputs}");
    }

    #[test]
    fn hostile_users_are_valid_or_rejected() {
        let pictures = pictures();
        let samples = [
            r#"{"id": "190000000000000005", "username": "night_owl", "global_name": "Zoë 🦊", "avatar": "a_0a1b"}"#,
            r#"{"id":"7","username":"s","global_name":null,"avatar":null,"flags":[1,{"deep":null}]}"#,
        ];
        each("users", &samples, |body| {
            let Ok(user) = read::<WireUser>(body).and_then(|user| user.into_user(&pictures)) else {
                return false;
            };
            assert!(user.avatar.as_str().starts_with("https://cdn.example/"), "{}", user.avatar.as_str());
            true
        });
    }

    #[test]
    fn hostile_lists_count_every_row_and_need_an_id_to_continue() {
        let full = format!("[{}]", vec![r#"{"id":"7"}"#; PAGE_SIZE].join(","));
        let samples = [
            r#"[{"id": "190000000000000500", "name": "g", "icon": null, "owner": true, "permissions": "8"}]"#,
            r#"[{"id":"1","permissions":"18446744073709551615"},{"id":"2","owner":false},null]"#,
            "[]",
            "null",
            // Short samples are mutated more, so there are more of them.
            r#"[{"id":"7"}]"#,
            r#"[{"id":"7","owner":null}]"#,
            r#"[{"id":"7","permissions":null}]"#,
            &full,
        ];
        let pictures = pictures();
        each("lists", &samples, |body| {
            let Ok(page) = Page::read(body, &pictures) else { return false };
            assert!(page.next_after.is_none() || page.memberships.len() + page.unreadable >= PAGE_SIZE);
            true
        });
    }

    #[test]
    fn hostile_tokens_fit_a_header_or_are_rejected() {
        let now = Timestamp::from_seconds(1_700_000_000).unwrap();
        let samples = [
            r#"{"access_token":"6qrZcUqja7812RVdnEKjpzOL4CvHBFG","token_type":"Bearer","expires_in":604800,"refresh_token":"D43f5y0ahjqew82jZ4NViEr2YafMKhue","scope":"identify guilds"}"#,
            r#"{"access_token":"a","token_type":"bearer"}"#,
            r#"{"access_token":"a","token_type":"bearer","expires_in":18446744073709551615}"#,
        ];
        each("tokens", &samples, |body| {
            let Ok(answer) = serde_json::from_slice::<BasicTokenResponse>(body) else { return false };
            let Ok(tokens) = token_endpoint::read(&answer, now) else { return false };
            assert!(tokens.access.expose().bytes().all(|byte| byte.is_ascii_graphic()));
            assert!(tokens.expires_at >= now);
            true
        });
        let samples = [r#"{"error": "invalid_grant", "error_description": "Invalid \"code\" in request."}"#];
        each("errors", &samples, |body| serde_json::from_slice::<BasicErrorResponse>(body).is_ok());
    }
}
