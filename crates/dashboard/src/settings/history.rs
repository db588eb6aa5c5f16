//! `/guilds/{guild}/history`: the last changes of settings, which can be undone.

use super::{EditView, Loaded, control::pieces_or_default, listed};
use crate::{
    context::Exchange,
    form::Form,
    hub::{GuildHead, Tab},
    page::{self, Answer, Frame, Here, see_other},
    reason::Piece,
    visitor::Visitor,
};
use actix_web::http::StatusCode;
use askama::Template;
use companion_domain::{
    model::GuildId,
    settings::{Access, ChangedField, HistoryEntry},
};
use companion_http::{ApiError, settings::undo_settings};

#[derive(Template)]
#[template(path = "history.html")]
struct HistoryPage<'a> {
    frame: Frame<'a>,
    head: GuildHead<'a>,
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

/// Titles of the section and the field, or the key if the schema has no such field any more; and the value before and
/// after, in words. `None` if the visitor may not see them.
type ChangeView = (String, Option<[Vec<Piece>; 2]>);

pub(crate) async fn show(visitor: Visitor) -> Answer {
    Ok(page::live(&render(&visitor, visitor.exchange.guild()?, None).await?))
}

/// Renders the history of a guild's settings.
pub(crate) async fn render(
    visitor: &Visitor,
    guild: GuildId,
    alert: Option<String>,
) -> Result<String, ApiError> {
    let (exchange, context) = (&visitor.exchange, &visitor.exchange.context);
    let loaded = Loaded::read(visitor, guild).await?;
    let history = exchange.read(context.use_cases.settings.store.history(guild)).await?;
    let names = context.use_cases.settings.editors(history.iter().map(|entry| entry.edit));
    let names = exchange.read(names).await?;
    let entry = |entry: &HistoryEntry| EntryView {
        revision: entry.revision,
        edit: EditView::new(&entry.edit, &names, visitor),
        changes: entry.changes.iter().map(|change| loaded.shown(change)).collect(),
        can_undo: entry.changes.iter().all(|change| loaded.access(change) == Access::Edit),
    };
    page::render(&HistoryPage {
        frame: context.frame(loaded.listed.guild.name.as_str(), Here::Guilds, visitor.navigation()),
        head: loaded.head(context, Tab::History),
        form_token: visitor.form_token(),
        alert,
        entries: history.iter().map(entry).collect(),
    })
}

impl Loaded {
    /// Returns what the visitor may do with a changed field: nothing, if the schema has no such field any more.
    fn access(&self, change: &ChangedField) -> Access {
        let found = self.settings.schema.find(&change.key);
        found.map_or(Access::None, |(section, _)| section.access(self.rights))
    }

    fn shown(&self, change: &ChangedField) -> ChangeView {
        let Some((section, field)) = self.settings.schema.find(&change.key) else {
            return (change.key.to_string(), None);
        };
        let words = |value| pieces_or_default(field, value, self.outline.as_ref());
        let is_shown = self.access(change) != Access::None;
        let values = is_shown.then(|| [words(change.from.as_ref()), words(change.to.as_ref())]);
        (format!("{}: {}", section.title, field.title), values)
    }
}

/// Sets the fields of an entry to what they were before it.
pub(crate) async fn undo(visitor: Visitor, form: Form) -> Answer {
    let Exchange { context, request } = &visitor.exchange;
    let (user, guild) = (visitor.user(), visitor.exchange.guild()?);
    let revision = form.get("revision").parse().unwrap_or_default();
    let (settings, limiter) = (&context.use_cases.settings, &context.storage_limiter);
    match undo_settings(settings, limiter, request, user, guild, revision).await {
        Ok(_) => see_other(&format!("/guilds/{guild}/history")),
        Err(ApiError::InputInvalid(errors)) => {
            let alert = format!("Nothing was undone: {}.", listed(&errors));
            let page = render(&visitor, guild, Some(alert)).await?;
            Ok(page::live_with(StatusCode::UNPROCESSABLE_ENTITY, &page))
        }
        Err(error) => Err(error),
    }
}
