//! Settings of guilds as both APIs and the dashboard read and change them.

use crate::{
    audit::Audit,
    concurrency::ConcurrencyLimiter,
    deadline,
    error::ApiError,
    headers::{Only, only},
    session_use::audit_failed_list,
};
use actix_web::{
    HttpRequest,
    http::header::{HeaderMap, IF_MATCH},
};
use companion_domain::{
    change::Tally,
    model::{FieldError, GuildId, UserId},
    settings::{SettingKey, Stored, Value},
    usecase::{ChangeAsUserError, GuildSettings, SentValues, UserChange},
};
use futures_util::FutureExt as _;
use serde::Deserialize;
use serde_json::Value as Json;
use std::{future::Future, sync::Arc};

/// Size of the largest change, in bytes: everything a guild may store, with every character escaped.
pub const MAX_CHANGE_BYTES: usize = 6 * Stored::MAX_SIZE;
/// Maximum length of a path in an error, in characters: a caller can send a name as long as a body.
const MAX_PATH_LENGTH: usize = 80;

/// Reads a change: `values` and, `with_user`, the user `by` whom the bot makes it. Every error is reported by its path;
/// whether the schema accepts the values is decided by the store.
pub fn read_change(
    document: &Result<Json, serde_json::Error>,
    with_user: bool,
) -> Result<(SentValues, Option<UserId>), ApiError> {
    let error = |path: &str, message: &str| {
        FieldError::new(path.chars().take(MAX_PATH_LENGTH).collect::<String>(), message)
    };
    let members = match document {
        Ok(Json::Object(members)) => members,
        Ok(_) => return Err(ApiError::InputInvalid(vec![error("", "must be an object")])),
        Err(cause) => return Err(ApiError::InputInvalid(vec![error("", &format!("is not JSON: {cause}"))])),
    };
    let known = if with_user { &["values", "by"][..] } else { &["values"] };
    let (mut values, mut errors) = (SentValues::new(), Vec::new());
    for name in members.keys().filter(|name| !known.contains(&name.as_str())) {
        errors.push(error(name, &format!("is not known here; known are {}", known.join(", "))));
    }
    let sent = members.get("by").filter(|by| with_user && !by.is_null());
    let by = sent.and_then(|by| by.as_str()?.parse::<UserId>().ok());
    if sent.is_some() && by.is_none() {
        errors.push(error("by", "must be the id of a user"));
    }
    match members.get("values") {
        None => errors.push(error("values", "is missing")),
        Some(Json::Object(entries)) => {
            for (name, value) in entries {
                let path = format!("values.{name}");
                match (name.parse(), Option::<Value>::deserialize(value)) {
                    (Ok(key), Ok(value)) => drop(values.insert(key, value)),
                    (Err(_), _) => errors.push(error(&path, "is not a field of the published schema")),
                    (_, Err(_)) => {
                        let expected = "must be null, true, false, a number, text or a list of text";
                        errors.push(error(&path, expected));
                    }
                }
            }
        }
        Some(_) => errors.push(error("values", "must be an object")),
    }
    errors.truncate(FieldError::MAX_REPORTED);
    if errors.is_empty() { Ok((values, by)) } else { Err(ApiError::InputInvalid(errors)) }
}

/// Returns the revision in `If-Match`. `None` without the header, or if any revision will do.
pub fn expected_revision(headers: &HeaderMap) -> Result<Option<u64>, ApiError> {
    let expected = "one revision in quotes, like \"7\"";
    let invalid = ApiError::HeaderInvalid { header: "If-Match", expected };
    match only(headers, &IF_MATCH) {
        Only::Absent => Ok(None),
        Only::Repeated => Err(invalid),
        Only::Once(value) if value == "*" => Ok(None),
        Only::Once(value) => {
            let quoted = value.to_str().ok().and_then(|text| text.strip_prefix('"')?.strip_suffix('"'));
            let digits = quoted.filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
            digits.and_then(|text| text.parse().ok()).map(Some).ok_or(invalid)
        }
    }
}

/// Returns the audit event of a change: who, which guild and which keys, never values.
pub fn audit_change(request: &HttpRequest, guild: GuildId, values: &SentValues) -> Audit {
    let keys: Vec<_> = values.keys().map(SettingKey::as_str).collect();
    Audit::of(request, "change_settings").subject(format!("{guild} {}", keys.join(",")))
}

/// Makes a user's change of settings, and audits it.
pub async fn change_settings(
    settings: &Arc<GuildSettings>,
    limiter: &ConcurrencyLimiter,
    request: &HttpRequest,
    change: UserChange,
) -> Result<Tally, ApiError> {
    let audit = audit_change(request, change.guild, &change.values).user(change.user);
    let settings = Arc::clone(settings);
    concluded(limiter, request, audit, async move { settings.change_as_user(change).await }).await
}

/// Undoes an entry of the history for a user, and audits it.
pub async fn undo_settings(
    settings: &Arc<GuildSettings>,
    limiter: &ConcurrencyLimiter,
    request: &HttpRequest,
    user: UserId,
    guild: GuildId,
    revision: u64,
) -> Result<Tally, ApiError> {
    let (settings, audit) = (Arc::clone(settings), Audit::of(request, "undo_settings").user(user));
    let audit = audit.subject(format!("{guild} {revision}"));
    concluded(limiter, request, audit, async move { settings.undo(user, guild, revision).await }).await
}

fn concluded(
    limiter: &ConcurrencyLimiter,
    request: &HttpRequest,
    audit: Audit,
    work: impl Future<Output = Result<Tally, ChangeAsUserError>> + 'static,
) -> impl Future<Output = Result<Tally, ApiError>> {
    let work = work.map(move |outcome| {
        if let Err(ChangeAsUserError::List(error)) = &outcome {
            audit_failed_list(|action| audit.caused(action), error);
        }
        let outcome = outcome.map_err(ApiError::from);
        audit.concluded(outcome.as_ref());
        outcome
    });
    deadline::change(limiter, request, work)
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix_web::http::header::HeaderValue;
    use serde_json::json;

    #[test]
    fn every_error_of_a_change_is_named_by_its_path() {
        let paths = |sent: Json, with_user| match read_change(&Ok(sent), with_user) {
            Err(ApiError::InputInvalid(errors)) => errors.into_iter().map(|error| error.path).collect(),
            _ => Vec::new(),
        };
        let values = json!({"a.b": {}, "A": 1, "a.c": [1], "a.d": null, "a.e": ["x"]});
        assert_eq!(
            paths(json!({"values": values, "by": 5, "more": 1}), true),
            ["more", "by", "values.A", "values.a.b", "values.a.c"]
        );
        assert_eq!(paths(json!({"values": {}, "by": "5"}), false), ["by"], "users cannot name another one");
        assert_eq!(paths(json!({}), false), ["values"]);
        assert_eq!(paths(json!({"values": []}), false), ["values"]);
        assert_eq!(paths(json!([]), false), [""]);
        let not_json = serde_json::from_str("{");
        assert!(matches!(read_change(&not_json, true), Err(ApiError::InputInvalid(_))));
        let sent = json!({"values": {"a.d": null, "a.e": ["x"], "a.f": 1.5}, "by": "5"});
        let (values, by) = read_change(&Ok(sent), true).unwrap();
        assert_eq!((values.len(), by), (3, UserId::new(5).ok()));
    }

    #[test]
    fn a_revision_is_one_number_in_quotes() {
        let with = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(IF_MATCH, HeaderValue::from_str(value).unwrap());
            }
            expected_revision(&headers).map_err(|error| error.problem().word)
        };
        assert_eq!(with(&[]), Ok(None));
        assert_eq!(with(&["*"]), Ok(None));
        assert_eq!(with(&["\"7\""]), Ok(Some(7)));
        for wrong in
            [&["7"][..], &["\"\""], &["\"+7\""], &["W/\"7\""], &["\"7\"", "\"7\""], &["\"7\", \"8\""]]
        {
            assert_eq!(with(wrong), Err("header_invalid"), "{wrong:?}");
        }
    }
}
