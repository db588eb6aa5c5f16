//! What the pages of a guild begin with, and `/guilds/{guild}/permissions`: what the user may do there.

use crate::{
    context::DashboardContext,
    guilds::{GuildView, guild_in, listed},
    page::{self, Frame, Here},
    piece::Piece,
    reason::PermissionsView,
    visitor::{Visitor, signed_in},
};
use actix_web::{HttpRequest, HttpResponse, web};
use askama::Template;
use companion_domain::{model::GuildId, rules::ListedGuild};
use companion_http::{ApiError, deadline::within_storage};

/// What the pages of a guild begin with.
pub(crate) struct GuildHead {
    pub(crate) guild: GuildView,
    pub(crate) linked: bool,
    /// The page among those of the guild. `None` if it is the only one, before settings are published.
    pub(crate) here: Option<Tab>,
}

/// A page of a guild.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tab {
    Settings,
    Permissions,
    History,
}

impl GuildHead {
    pub(crate) fn new(listed: &ListedGuild, context: &DashboardContext, here: Option<Tab>) -> Self {
        let guild = GuildView::new(listed, &context.site.pictures);
        Self { guild, linked: listed.guild.linked, here }
    }

    /// Returns name, path below that of the guild, and whether it is shown, of each page of the guild.
    pub(crate) fn tabs(&self) -> Vec<(&'static str, &'static str, bool)> {
        let all = [
            (Tab::Settings, "Settings", ""),
            (Tab::Permissions, "Permissions", "/permissions"),
            (Tab::History, "History", "/history"),
        ];
        let tabs = |here| all.map(|(tab, name, path)| (name, path, tab == here)).to_vec();
        self.here.map(tabs).unwrap_or_default()
    }
}

#[derive(Template)]
#[template(path = "permissions.html")]
struct PermissionsPage<'a> {
    frame: Frame<'a>,
    head: GuildHead,
    permissions: PermissionsView,
}

/// Shows what the user may do in a guild.
pub(crate) async fn permissions(
    context: web::Data<DashboardContext>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    signed_in(&context, &request, async |visitor| {
        Ok(page::live(&render_permissions(&context, &request, &visitor, guild_in(&request)?).await?))
    })
    .await
}

/// Renders what the user may do in a guild.
pub(crate) async fn render_permissions(
    context: &DashboardContext,
    request: &HttpRequest,
    visitor: &Visitor,
    guild: GuildId,
) -> Result<String, ApiError> {
    let user = visitor.session.user;
    let listed = listed(context, request, user, guild).await?;
    let explain = context.use_cases.explain.explain(user, guild);
    let explanation = within_storage(&context.storage_limiter, request, explain).await?;
    let schema =
        within_storage(&context.storage_limiter, request, context.use_cases.settings.schema()).await?;
    let has_settings = schema.is_some_and(|schema| !schema.sections().is_empty());
    let frame = context.frame(listed.guild.name.as_str(), Here::Guilds, visitor.navigation(context));
    page::render(&PermissionsPage {
        frame,
        head: GuildHead::new(&listed, context, has_settings.then_some(Tab::Permissions)),
        permissions: PermissionsView::new(&explanation, &context.wordings),
    })
}
