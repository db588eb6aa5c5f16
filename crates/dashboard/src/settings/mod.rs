//! `/guilds/{guild}`: the settings of a guild as forms, one per section. They work without scripts.

mod attempt;
mod control;
mod history;
mod section;

use self::{
    attempt::Attempt,
    control::Control,
    section::{Content, SectionView, Surroundings},
};
use crate::{
    bot::{BotView, Tone, counted},
    context::{DashboardContext, Exchange},
    date::Date,
    form::Form,
    hub::{self, GuildHead, Tab},
    page::{self, Answer, Frame, Here, see_other},
    reason::Piece,
    visitor::Visitor,
};
use actix_web::http::StatusCode;
use askama::Template;
use companion_domain::{
    model::{FieldError, GuildId, Outline, Profile, UserId},
    rules::ListedGuild,
    settings::{Access, Edit, Origin, Rights, Section, Stored},
    usecase::{SettingsView, UserChange, find_outline},
};
use companion_http::{ApiError, settings::change_settings, shown_settings_of};
use std::collections::HashMap;

pub(crate) use self::history::{render as render_history, show as show_history, undo};

/// How often a change is tried while others change the same settings.
const MAX_TRIES: usize = 3;

#[derive(Template)]
#[template(path = "settings.html")]
struct SettingsPage<'a> {
    frame: Frame<'a>,
    head: GuildHead<'a>,
    form_token: String,
    /// Why nothing was saved, and the fields with a mistake or a conflict: id and title.
    alert: Option<(&'a str, Vec<(String, String)>)>,
    state: StateView,
    sections: Vec<SectionView<'a>>,
}

/// Whether the bot acts by what is stored.
struct StateView {
    tone: Tone,
    line: String,
    revision: u64,
    changed: Option<EditView>,
    /// Problems of the bot with fields that the visitor may see: id, title and message.
    problems: Vec<(String, String, String)>,
}

/// Names of users who changed settings, as far as they are signed in.
type Names = HashMap<UserId, Profile>;

/// Who changed settings, when and through what, in words.
pub(crate) struct EditView {
    pub(crate) who: String,
    pub(crate) date: Date,
    pub(crate) via: &'static str,
}

impl EditView {
    fn new(edit: &Edit, names: &Names, visitor: &Visitor) -> Self {
        Self {
            who: match edit.by {
                Some(user) if user == visitor.user() => "You".to_owned(),
                Some(user) => names
                    .get(&user)
                    .map_or_else(|| format!("User {user}"), |profile| profile.name.to_string()),
                None if edit.via == Origin::Bot => "The bot".to_owned(),
                None => "A user who was forgotten".to_owned(),
            },
            date: Date::of(edit.at, visitor.exchange.context.clock.now()),
            via: match edit.via {
                Origin::Site => "on this site",
                Origin::Api => "through the API",
                Origin::Bot => "through the bot",
            },
        }
    }
}

/// Everything that pages of settings show of a guild.
struct Loaded {
    listed: ListedGuild,
    settings: SettingsView,
    rights: Rights,
    outline: Option<Outline>,
    /// The name of the last editor.
    names: Names,
}

impl Loaded {
    async fn read(visitor: &Visitor, guild: GuildId) -> Result<Self, ApiError> {
        let (exchange, user) = (&visitor.exchange, visitor.user());
        let Exchange { context, request } = exchange;
        let listed = hub::listed(visitor, guild).await?;
        let use_case = &context.use_cases.settings;
        let (settings, rights) =
            Box::pin(shown_settings_of(user, guild, use_case, &context.list_limiter, request)).await?;
        let outline = exchange.read(find_outline(&*context.use_cases.feed.records, guild)).await?;
        let names = use_case.editors(settings.stored.changed.filter(|edit| edit.by != Some(user)));
        Ok(Self { listed, settings, rights, outline, names: exchange.read(names).await? })
    }

    fn head(&self, context: &DashboardContext, here: Tab) -> GuildHead<'_> {
        let has_settings = !self.settings.schema.sections().is_empty();
        GuildHead::new(&self.listed, context, has_settings.then_some(here))
    }
}

/// Shows a guild of the user's list. Others are not found, whether or not they exist.
pub(crate) async fn show(visitor: Visitor) -> Answer {
    Ok(page::live(&render(&visitor, visitor.exchange.guild()?, true).await?))
}

/// Renders the settings of a guild, or the permissions before a schema is published. The live region needs no forms.
pub(crate) async fn render(visitor: &Visitor, guild: GuildId, with_forms: bool) -> Result<String, ApiError> {
    let loaded = Loaded::read(visitor, guild).await?;
    let sections = loaded.settings.schema.sections();
    if sections.is_empty() {
        return hub::render_permissions(visitor, guild).await;
    }
    let saved = visitor.exchange.parameter("saved");
    let sections = if with_forms { sections } else { &[] };
    render_loaded(visitor, &loaded, sections, saved.as_deref(), None)
}

fn render_loaded(
    visitor: &Visitor,
    loaded: &Loaded,
    sections: &[Section],
    saved: Option<&str>,
    failed: Option<(&Attempt, &str)>,
) -> Result<String, ApiError> {
    let context = &visitor.exchange.context;
    let around = Surroundings { loaded, attempt: failed.map(|(attempt, _)| attempt), saved };
    let sections: Vec<_> = sections.iter().map(|section| SectionView::new(section, &around)).collect();
    page::render(&SettingsPage {
        frame: context.frame(loaded.listed.guild.name.as_str(), Here::Guilds, visitor.navigation()),
        head: loaded.head(context, Tab::Settings),
        form_token: visitor.form_token(),
        alert: failed.map(|(_, words)| (words, troubled(&sections))),
        state: state(visitor, loaded),
        sections,
    })
}

/// Returns the fields with a mistake or a conflict.
fn troubled(sections: &[SectionView<'_>]) -> Vec<(String, String)> {
    let forms = sections.iter().filter_map(|section| match &section.content {
        Content::Form(fields) => Some(fields),
        Content::Locked { .. } => None,
    });
    let troubled = forms.flatten().filter(|field| field.mistake.is_some() || field.conflict.is_some());
    troubled.map(|field| (field.id.clone(), field.field.title.to_string())).collect()
}

fn state(visitor: &Visitor, loaded: &Loaded) -> StateView {
    let stored = &loaded.settings.stored;
    let (Stored { revision, problems, changed, .. }, is_applied) = (stored, stored.is_applied());
    let shown = problems.iter().filter_map(|problem| {
        let (section, field) = loaded.settings.schema.find(&problem.key)?;
        let is_shown = is_applied && section.access(loaded.rights) != Access::None;
        is_shown.then(|| (problem.key.to_string(), field.title.to_string(), problem.message.to_string()))
    });
    let shown: Vec<_> = shown.collect();
    let (tone, line) = match (is_applied, shown.len()) {
        _ if *revision == 0 => (Tone::Good, "Nothing is set yet: the defaults are in force.".to_owned()),
        (true, 0) => (Tone::Good, "In force.".to_owned()),
        (true, count) => (Tone::Mixed, format!("In force, except for {}.", counted(count, "field"))),
        (false, _) if BotView::now(&visitor.exchange.context).is_some_and(|bot| bot.tone == Tone::Bad) => {
            (Tone::Mixed, "Not in force yet: the bot is silent. It gets them when it is back.".to_owned())
        }
        (false, _) => (Tone::Mixed, "Not in force yet: the bot has not confirmed them.".to_owned()),
    };
    StateView {
        tone,
        line,
        revision: *revision,
        changed: changed.as_ref().map(|edit| EditView::new(edit, &loaded.names, visitor)),
        problems: shown,
    }
}

/// Saves one section. What was typed is shown again if it cannot be saved.
pub(crate) async fn save(visitor: Visitor, form: Form) -> Answer {
    let Exchange { context, request } = &visitor.exchange;
    let (user, guild, key) = (visitor.user(), visitor.exchange.guild()?, form.get("section"));
    let settings = &context.use_cases.settings;
    let mut retries = 1..MAX_TRIES;
    loop {
        let loaded = Loaded::read(&visitor, guild).await?;
        let sections = loaded.settings.schema.sections();
        let section = sections.iter().find(|section| section.key.as_str() == key);
        let section = section.ok_or(ApiError::NotFound)?;
        let mut attempt = Attempt::read(section, &form);
        let values = attempt.changes(section, &loaded.settings.stored);
        let (status, words) = match attempt.obstacle() {
            Some(obstacle) => obstacle,
            None => {
                let expected = Some(loaded.settings.stored.revision);
                let unchanged = values.is_empty();
                let change = UserChange { user, guild, values, expected, via: Origin::Site };
                let change = change_settings(settings, &context.storage_limiter, request, change);
                let outcome = if unchanged { Ok(()) } else { change.await.map(drop) };
                match outcome {
                    Ok(()) => return see_other(&format!("/guilds/{guild}?saved={key}#section-{key}")),
                    Err(ApiError::SettingsChanged(_)) if retries.next().is_some() => continue,
                    Err(error) => explained(error)?,
                }
            }
        };
        let page = render_loaded(&visitor, &loaded, sections, None, Some((&attempt, &words)))?;
        return Ok(page::live_with(status, &page));
    }
}

/// Returns the status and the words of an error that leaves what was typed on the page. Others get an error page.
fn explained(error: ApiError) -> Result<(StatusCode, String), ApiError> {
    let words = match &error {
        ApiError::SignInStale => {
            "your sign-in is too old to know what you may do right now. Sign in again in another tab, then save here"
                .to_owned()
        }
        ApiError::PermissionMissing(_) => "you may not edit this section, or not any more".to_owned(),
        ApiError::SettingsChanged(_) => "others are changing these settings right now. Save again".to_owned(),
        ApiError::InputInvalid(errors) => listed(errors),
        _ => return Err(error),
    };
    // 412 is for requests with a precondition; a form has none.
    let is_conflict = matches!(error, ApiError::SettingsChanged(_));
    let status = if is_conflict { StatusCode::CONFLICT } else { error.problem().status };
    Ok((status, format!("Nothing was saved: {words}.")))
}

/// Returns errors as one sentence.
fn listed(errors: &[FieldError]) -> String {
    errors.iter().map(|error| format!("{} {}", error.path, error.message)).collect::<Vec<_>>().join("; ")
}
