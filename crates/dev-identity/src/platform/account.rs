//! Accounts and client credentials.

use super::OauthError;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use std::collections::HashMap;
use url::form_urlencoded;

/// A user, and the user's guilds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// The platform's id.
    pub id: u64,
    /// The unique name.
    pub username: String,
    /// The display name, if any.
    pub global_name: Option<String>,
    /// The hash of the picture, if any; the prefix `a_` marks an animated one, which is not served.
    pub avatar: Option<String>,
    /// The guilds, in any order.
    pub guilds: Vec<AccountGuild>,
}

/// A guild, as one user sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountGuild {
    /// The platform's id.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// The hash of its icon, if any.
    pub icon: Option<String>,
    /// Whether the user owns it.
    pub owner: bool,
    /// The user's permissions there.
    pub permissions: u64,
}

impl Account {
    /// Returns the response of `/users/@me`.
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

    /// Returns a page of `/users/@me/guilds`: up to `limit` guilds after an id, by ascending id.
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

/// The parameters of a request, each at most once.
#[derive(Debug)]
pub(crate) struct Parameters(HashMap<String, String>);

impl Parameters {
    /// Parses a form or a query. Fails on a repeated parameter; treats one without a value as omitted (RFC 6749, 3.2).
    pub(crate) fn read(text: &[u8]) -> Result<Self, OauthError> {
        let mut parameters = HashMap::new();
        for (name, value) in form_urlencoded::parse(text) {
            if value.is_empty() {
                continue;
            }
            if parameters.insert(name.into_owned(), value.into_owned()).is_some() {
                return Err(OauthError::InvalidRequest);
            }
        }
        Ok(Self(parameters))
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    pub(crate) fn required(&self, name: &str) -> Result<&str, OauthError> {
        self.get(name).ok_or(OauthError::InvalidRequest)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

/// A client's id and secret as received.
pub(crate) struct Credentials {
    pub(crate) id: String,
    pub(crate) secret: String,
}

impl Credentials {
    /// Reads them from the header or from the form; both together are an error (RFC 6749, 2.3).
    pub(crate) fn read(authorization: Option<&str>, form: &Parameters) -> Result<Self, OauthError> {
        let in_form = form.get("client_secret");
        match (authorization, in_form) {
            (Some(_), Some(_)) => Err(OauthError::InvalidRequest),
            (Some(header), None) => Self::from_basic(header).ok_or(OauthError::InvalidClient),
            (None, Some(secret)) => {
                Ok(Self { id: form.required("client_id")?.to_owned(), secret: secret.to_owned() })
            }
            (None, None) => Err(OauthError::InvalidClient),
        }
    }

    /// Both parts are form-encoded before they are joined (RFC 6749, 2.3.1).
    fn from_basic(header: &str) -> Option<Self> {
        let (scheme, encoded) = header.split_once(' ')?;
        if !scheme.eq_ignore_ascii_case("basic") {
            return None;
        }
        let joined = String::from_utf8(STANDARD.decode(encoded.trim()).ok()?).ok()?;
        let (id, secret) = joined.split_once(':')?;
        Some(Self { id: form_decoded(id)?, secret: form_decoded(secret)? })
    }
}

/// Decodes form-encoded text. Returns `None` if it contains a field separator.
fn form_decoded(text: &str) -> Option<String> {
    if text.contains(['&', '=']) {
        return None;
    }
    form_urlencoded::parse(text.as_bytes()).next().map(|(name, _)| name.into_owned())
}
