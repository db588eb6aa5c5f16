//! `/guilds/{guild}/history`: the last changes of settings, which can be undone.

use super::{EditView, Loaded, listed, words::pieces_or_default};
use crate::{
    context::DashboardContext,
    form::handle_form,
    guilds::guild_in,
    hub::{GuildHead, Tab},
    page::{self, Frame, Here, see_other},
    piece::Piece,
    visitor::{Visitor, signed_in},
};
use actix_web::{HttpRequest, HttpResponse, http::StatusCode, web};
use askama::Template;
use companion_domain::{
    model::GuildId,
    settings::{Access, ChangedField, HistoryEntry},
};
use companion_http::{ApiError, deadline::within_storage, routing, settings::undo_settings};

#[derive(Template)]
#[template(path = "history.html")]
struct HistoryPage<'a> {
    frame: Frame<'a>,
    head: GuildHead,
    form_token: String,
    /// Why an entry was not undone.
    alert: Option<String>,
    entries: Vec<EntryView>,
}

struct EntryView {
    revision: u64,
    edit: EditView,
    changes: Vec<ChangeView>,
    /// Whether the visitor may edit all fields of it.
    can_undo: bool,
}

struct ChangeView {
    /// Titles of the section and the field, or the key if the schema has no such field any more.
    title: String,
    /// Before and after, in words. `None` if the visitor may not see them.
    values: Option<[Vec<Piece>; 2]>,
}

pub(crate) fn resource(path: &'static str) -> routing::Resource {
    routing::resource(path, "GET, HEAD, POST, OPTIONS")
        .route(web::get().to(show))
        .route(web::head().to(show))
        .route(web::post().to(undo))
}

async fn show(context: web::Data<DashboardContext>, request: HttpRequest) -> Result<HttpResponse, ApiError> {
    signed_in(&context, &request, async |visitor| {
        Ok(page::live(&render(&context, &request, &visitor, guild_in(&request)?, None).await?))
    })
    .await
}

/// Renders the history of a guild's settings.
pub(crate) async fn render(
    context: &DashboardContext,
    request: &HttpRequest,
    visitor: &Visitor,
    guild: GuildId,
    alert: Option<String>,
) -> Result<String, ApiError> {
    let loaded = Loaded::read(context, request, visitor.session.user, guild).await?;
    let history = context.use_cases.settings.store.history(guild);
    let history = within_storage(&context.storage_limiter, request, history).await?;
    let names = context.use_cases.settings.editors(history.iter().map(|entry| entry.edit));
    let names = within_storage(&context.storage_limiter, request, names).await?;
    let entry = |entry: &HistoryEntry| EntryView {
        revision: entry.revision,
        edit: EditView::new(&entry.edit, &names, visitor, context),
        changes: entry.changes.iter().map(|change| loaded.shown(change)).collect(),
        can_undo: entry.changes.iter().all(|change| loaded.access(change) == Access::Edit),
    };
    let entries = history.iter().map(entry).collect();
    let frame = context.frame(loaded.listed.guild.name.as_str(), Here::Guilds, visitor.navigation(context));
    let form_token = visitor.form_token(context);
    page::render(&HistoryPage { frame, head: loaded.head(context, Tab::History), form_token, alert, entries })
}

impl Loaded {
    /// Returns what the visitor may do with a changed field: nothing, if the schema has no such field any more.
    fn access(&self, change: &ChangedField) -> Access {
        let found = self.settings.schema.find(&change.key);
        found.map_or(Access::None, |(section, _)| section.access(self.rights))
    }

    fn shown(&self, change: &ChangedField) -> ChangeView {
        let Some((section, field)) = self.settings.schema.find(&change.key) else {
            return ChangeView { title: change.key.to_string(), values: None };
        };
        let words = |value| pieces_or_default(field, value, self.outline.as_ref());
        let is_shown = self.access(change) != Access::None;
        ChangeView {
            title: format!("{}: {}", section.title, field.title),
            values: is_shown.then(|| [words(change.from.as_ref()), words(change.to.as_ref())]),
        }
    }
}

/// Sets the fields of an entry to what they were before it.
async fn undo(
    context: web::Data<DashboardContext>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, ApiError> {
    handle_form(&context, &request, payload, context.settings.body_limit, async |visitor, form| {
        let guild = guild_in(&request)?;
        let revision = form.get("revision").parse().unwrap_or_default();
        let (settings, limiter) = (&context.use_cases.settings, &context.storage_limiter);
        match undo_settings(settings, limiter, &request, visitor.session.user, guild, revision).await {
            Ok(_) => see_other(&format!("/guilds/{guild}/history")),
            Err(ApiError::InputInvalid(errors)) => {
                let alert = format!("Nothing was undone: {}.", listed(&errors));
                let page = render(&context, &request, &visitor, guild, Some(alert)).await?;
                Ok(page::live_with(StatusCode::UNPROCESSABLE_ENTITY, &page))
            }
            Err(error) => Err(error),
        }
    })
    .await
}
