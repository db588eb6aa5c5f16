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
    settings::{Origin, SettingKey, Stored, Value, Values},
    usecase::{ChangeAsUserError, GuildSettings, SentValues},
};
use serde::Deserialize;
use serde_json::Value as Json;
use std::{future::Future, sync::Arc};

/// Size of the largest change, in bytes: everything a guild may store, with every character escaped.
pub const MAX_CHANGE_BYTES: usize = 6 * Values::MAX_SIZE;

/// Reads the member `values` of a change. Every invalid entry is reported; whether the schema accepts the others is
/// decided by the store.
pub fn read_values(sent: &Json) -> Result<SentValues, Vec<FieldError>> {
    let error = |path: String, message: &str| FieldError { path, message: message.to_owned() };
    let Some(entries) = sent.as_object() else {
        return Err(vec![error("values".to_owned(), "must be an object")]);
    };
    let read = |(name, value): (&String, &Json)| {
        let key: SettingKey = name.parse().map_err(|_| {
            let shown: String = name.chars().take(64).collect();
            error(format!("values.{shown}"), "is not a field of the published schema")
        })?;
        let value = Option::<Value>::deserialize(value).map_err(|_| {
            error(format!("values.{key}"), "must be null, true, false, a number, text or a list of text")
        })?;
        Ok((key, value))
    };
    let (read, errors): (Vec<_>, Vec<_>) = entries.iter().map(read).partition(Result::is_ok);
    let errors: Vec<_> = errors.into_iter().filter_map(Result::err).take(FieldError::MAX_REPORTED).collect();
    if errors.is_empty() { Ok(read.into_iter().filter_map(Result::ok).collect()) } else { Err(errors) }
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

/// Changes settings for a user, and audits it.
#[expect(clippy::too_many_arguments, reason = "each is a part of one change")]
pub async fn change_settings(
    settings: &Arc<GuildSettings>,
    limiter: &ConcurrencyLimiter,
    request: &HttpRequest,
    user: UserId,
    guild: GuildId,
    values: SentValues,
    expected: Option<u64>,
    via: Origin,
) -> Result<Stored, ApiError> {
    let (settings, audit) = (Arc::clone(settings), audit_change(request, guild, &values).user(user));
    let work = async move { settings.change_as_user(user, guild, values, expected, via).await };
    concluded(limiter, request, audit, work).await
}

/// Undoes an entry of the history for a user, and audits it.
pub async fn undo_settings(
    settings: &Arc<GuildSettings>,
    limiter: &ConcurrencyLimiter,
    request: &HttpRequest,
    user: UserId,
    guild: GuildId,
    revision: u64,
) -> Result<Stored, ApiError> {
    let (settings, audit) = (Arc::clone(settings), Audit::of(request, "undo_settings").user(user));
    let audit = audit.subject(format!("{guild} {revision}"));
    let work = async move { settings.undo(user, guild, revision).await };
    concluded(limiter, request, audit, work).await
}

async fn concluded(
    limiter: &ConcurrencyLimiter,
    request: &HttpRequest,
    audit: Audit,
    work: impl Future<Output = Result<Stored, ChangeAsUserError>> + 'static,
) -> Result<Stored, ApiError> {
    let work = async move {
        let outcome = work.await;
        if let Err(ChangeAsUserError::List(error)) = &outcome {
            audit_failed_list(|action| audit.caused(action), error);
        }
        let outcome = outcome.map_err(ApiError::from);
        match &outcome {
            Ok(_) => audit.concluded(&Ok(Tally::CHANGED)),
            Err(error) => audit.refused(error),
        }
        outcome
    };
    deadline::change::<Stored, ApiError>(limiter, request, work).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix_web::http::header::HeaderValue;
    use serde_json::json;

    #[test]
    fn every_invalid_value_is_named() {
        let errors =
            read_values(&json!({"a.b": {}, "A": 1, "a.c": [1], "a.d": null, "a.e": ["x"]})).unwrap_err();
        let paths: Vec<_> = errors.iter().map(|error| error.path.as_str()).collect();
        assert_eq!(paths, ["values.A", "values.a.b", "values.a.c"]);
        assert_eq!(read_values(&json!([])).unwrap_err()[0].path, "values");
        let values = read_values(&json!({"a.d": null, "a.e": ["x"], "a.f": 1.5})).unwrap();
        assert_eq!(values.len(), 3);
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
