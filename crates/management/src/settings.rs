//! `/bot/settings` and `/bot/guilds/{guild}/settings`: what people can set, what they set, and what the bot makes of it.

use crate::{
    request::{Call, Changes, Document, Query, answer},
    sync::shard_slice,
};
use actix_web::{
    HttpResponse,
    http::{
        Method,
        header::{CACHE_CONTROL, CONTENT_TYPE},
    },
    web::Bytes,
};
use companion_domain::{model::GuildId, port::StoreError, settings::Stored, usecase::SettingsView};
use companion_http::{
    ApiError,
    openapi::failure,
    settings::{audit_change, expected_revision, read_change},
    wire::{GuildSettings, SettingsChange, SettingsPatch},
};
use companion_records::{Record as _, SentSchema, SettingsConfirmation, read_document, read_schema};
use futures_util::stream;
use serde_json::json;
use std::{num::NonZeroU32, sync::Arc};

/// Read the schema of settings
///
/// What the bot published last.
#[utoipa::path(
    get, path = "/bot/settings", operation_id = "getSettingsSchema", tag = "feed",
    responses((status = 200, description = "The schema.", body = SentSchema), failure::Published)
)]
pub(crate) async fn show_schema(call: Call) -> Result<HttpResponse, ApiError> {
    let schema = call.read(call.context.use_cases.settings.store.schema()).await?;
    answer("The schema of settings.", &*schema.ok_or(ApiError::NotReported)?)
}

/// Publish the schema of settings
///
/// Replaces the last one. Values that the new schema does not accept are kept and ignored; they count again once a schema
/// accepts them.
#[utoipa::path(
    put, path = "/bot/settings", operation_id = "putSettingsSchema", tag = "feed",
    request_body(content = SentSchema, example = SentSchema::example),
    responses((status = 200, description = "The schema is published.", body = Changes), failure::Input)
)]
pub(crate) async fn publish(call: Call<Document>) -> Result<HttpResponse, ApiError> {
    let schema = read_schema(&call.body).map_err(ApiError::InputInvalid)?;
    let settings = Arc::clone(&call.context.use_cases.settings);
    call.change(call.audit("put_settings_schema"), async move { settings.publish(&schema).await }).await
}

/// Read the settings of a guild
#[utoipa::path(
    get, path = "/bot/guilds/{guild}/settings", operation_id = "getSettings", tag = "feed",
    responses((status = 200, description = "The settings.", body = GuildSettings<'_>), failure::Member)
)]
pub(crate) async fn show(call: Call) -> Result<HttpResponse, ApiError> {
    let guild: GuildId = call.segment("guild")?;
    let found = call.read(call.context.use_cases.settings.find(guild)).await?;
    shown(&found.ok_or(ApiError::GuildUnknown)?)
}

fn shown(view: &SettingsView) -> Result<HttpResponse, ApiError> {
    answer("The settings of the guild.", GuildSettings::from(view))
}

/// Change settings of a guild
///
/// `null` returns a field to its default. With `If-Match`, only if the revision is still this one. Nothing changes unless
/// every value is valid.
#[utoipa::path(
    patch, path = "/bot/guilds/{guild}/settings", operation_id = "patchSettings", tag = "feed",
    params(("If-Match" = Option<String>, Header, description = "The expected revision, in quotes.", example = "\"7\"")),
    request_body(
        content = SettingsPatch,
        example = json!({"values": {"welcome.channel": "190000000000000011", "welcome.on": null}})
    ),
    responses(
        (status = 200, description = "The settings after the change.", body = GuildSettings<'_>),
        failure::ChangingSettings,
    )
)]
pub(crate) async fn patch(call: Call<Document>) -> Result<HttpResponse, ApiError> {
    let guild: GuildId = call.segment("guild")?;
    let expected = expected_revision(call.request.headers())?;
    let (values, by) = read_change(&call.body, true)?;
    let settings = Arc::clone(&call.context.use_cases.settings);
    let audit = audit_change(&call.request, guild, &values);
    let audit = match by {
        Some(user) => audit.user(user),
        None => audit,
    };
    let work = async move {
        let changed = settings.change(guild, values, by, expected).await.map_err(ApiError::from);
        let changed = changed.and_then(|view| view.ok_or(ApiError::GuildUnknown));
        audit.concluded(changed.as_ref().map(|(_, tally)| tally));
        changed.map(|(view, _)| view)
    };
    shown(&call.write(work).await?)
}

/// Remove the settings of a guild
///
/// Values and history. The revision begins again at 0.
#[utoipa::path(
    delete, path = "/bot/guilds/{guild}/settings", operation_id = "removeSettings", tag = "feed",
    responses((status = 200, description = "The settings are removed.", body = Changes), failure::Input)
)]
pub(crate) async fn remove(call: Call) -> Result<HttpResponse, ApiError> {
    let guild: GuildId = call.segment("guild")?;
    let settings = Arc::clone(&call.context.use_cases.settings);
    let audit = call.audit("remove_settings").subject(guild);
    call.change(audit, async move { settings.remove(guild).await }).await
}

/// Confirm that the bot acts by a revision
///
/// Except for the values with a problem, which people see beside the field. A confirmation never lowers the revision.
#[utoipa::path(
    put, path = "/bot/guilds/{guild}/settings/applied", operation_id = "putApplied", tag = "feed",
    request_body(content = SettingsConfirmation, example = SettingsConfirmation::example),
    responses((status = 200, description = "The confirmation is stored.", body = Changes), failure::Member)
)]
pub(crate) async fn confirm(call: Call<Document>) -> Result<HttpResponse, ApiError> {
    let guild: GuildId = call.segment("guild")?;
    let (revision, problems) =
        read_document::<SettingsConfirmation>(&call.body).map_err(ApiError::InputInvalid)?;
    let settings = Arc::clone(&call.context.use_cases.settings);
    call.change(call.audit("confirm_settings").subject(guild), async move {
        let confirmed =
            settings.confirm(guild, revision, &problems.unwrap_or_default()).await.map_err(ApiError::from);
        confirmed.and_then(|tally| tally.ok_or(ApiError::GuildUnknown))
    })
    .await
}

/// Read the history of a guild's settings
///
/// The last 50 changes, newest first.
#[utoipa::path(
    get, path = "/bot/guilds/{guild}/settings/history", operation_id = "getSettingsHistory", tag = "feed",
    responses((status = 200, description = "The changes.", body = Vec<SettingsChange<'_>>), failure::Input)
)]
pub(crate) async fn history(call: Call) -> Result<HttpResponse, ApiError> {
    let guild: GuildId = call.segment("guild")?;
    let history = call.read(call.context.use_cases.settings.store.history(guild)).await?;
    answer("The last changes.", history.iter().map(SettingsChange::from).collect::<Vec<_>>())
}

/// Lines that are read from the store at once.
const PAGE: NonZeroU32 = NonZeroU32::new(500).unwrap();

/// Read what is set in all guilds
///
/// Newline-delimited JSON, a line for each guild in which anything is set, in the order of their ids: `guild`, `revision`,
/// `applied` and `values`, which has only what is set. `shard` and `shards` narrow it to one shard.
#[utoipa::path(
    get, path = "/bot/settings/guilds", operation_id = "listSettings", tag = "feed",
    params(
        ("shard" = Option<u32>, Query, description = "The number of a shard, from 0."),
        ("shards" = Option<u32>, Query, description = "The number of shards."),
    ),
    responses(
        (status = 200, description = "A line for each guild.", body = String, content_type = "application/x-ndjson"),
        failure::Input,
    )
)]
pub(crate) async fn all(call: Call) -> Result<HttpResponse, ApiError> {
    let slice = shard_slice(&Query::read(call.request.query_string(), &["shard", "shards"])?)?;
    let mut response = HttpResponse::Ok();
    response.insert_header((CONTENT_TYPE, "application/x-ndjson")).insert_header((CACHE_CONTROL, "no-store"));
    if call.request.method() == Method::HEAD {
        return Ok(response.finish());
    }
    let store = Arc::clone(&call.context.use_cases.settings.store);
    // Each page is sent only after the next one was read, the first one before the status. An error cuts the connection,
    // so that a client cannot take a part for the whole.
    let first = call.read(store.page(slice, None, PAGE)).await?;
    let lines = stream::try_unfold(first, move |page| {
        let store = Arc::clone(&store);
        async move {
            let Some((last, _)) = page.last() else { return Ok(None) };
            let next = match page.len() < PAGE.get() as usize {
                true => Vec::new(),
                false => store.page(slice, Some(*last), PAGE).await?,
            };
            let lines: String = page.iter().map(line).collect();
            Ok::<_, StoreError>(Some((Bytes::from(lines), next)))
        }
    });
    Ok(response.streaming(lines))
}

fn line((guild, stored): &(GuildId, Stored)) -> String {
    let Stored { revision, values, applied, .. } = stored;
    let line =
        json!({"guild": guild.to_string(), "revision": revision, "applied": applied, "values": values});
    format!("{line}\n")
}
