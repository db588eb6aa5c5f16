//! `/guilds` and `/guilds/{guild}/permissions`: guilds of the user that have the bot, and what the user may do there.

use crate::{
    bot::counted,
    context::DashboardContext,
    page::{self, Frame, Here},
    reason::PermissionView,
    site::{Picture, Pictures},
    visitor::{Visitor, signed_in},
};
use actix_web::{HttpRequest, HttpResponse, web};
use askama::Template;
use companion_domain::{
    model::{GuildId, UserId},
    rules::ListedGuild,
    usecase::GuildListing,
};
use companion_http::{ApiError, deadline::within_storage, guilds_of, routing};

#[derive(Template)]
#[template(path = "guilds.html")]
struct GuildsPage<'a> {
    frame: Frame<'a>,
    /// Number of guilds, in words.
    count: String,
    guilds: Vec<GuildView>,
}

/// A guild, as shown on a card.
pub(crate) struct GuildView {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) picture: Picture,
    pub(crate) role: &'static str,
    pub(crate) plus: bool,
    /// Number of members, in words.
    pub(crate) members: String,
    pub(crate) setup: bool,
}

impl GuildView {
    pub(crate) fn new(listed: &ListedGuild, pictures: &Pictures) -> Self {
        let ListedGuild { guild, role, plus, .. } = listed;
        Self {
            id: guild.id.to_string(),
            name: guild.name.to_string(),
            picture: pictures.picture(&listed.icon(&pictures.server), guild.name.as_str()),
            role: role.as_str(),
            plus: plus.is_some(),
            members: counted(guild.members.get() as usize, "member"),
            setup: guild.setup,
        }
    }
}

/// Returns the guild listing of a user.
pub(crate) async fn listing(
    context: &DashboardContext,
    request: &HttpRequest,
    user: UserId,
) -> Result<GuildListing, ApiError> {
    guilds_of(user, &context.use_cases.list_guilds, &context.storage_limiter, &context.list_limiter, request)
        .await
}

pub(crate) async fn list(
    context: web::Data<DashboardContext>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    signed_in(&context, &request, async |visitor| {
        Ok(page::live(&render(&context, &request, &visitor).await?))
    })
    .await
}

/// Renders the page of the user's guilds.
pub(crate) async fn render(
    context: &DashboardContext,
    request: &HttpRequest,
    visitor: &Visitor,
) -> Result<String, ApiError> {
    let listing = listing(context, request, visitor.session.user).await?;
    let pictures = &context.site.pictures;
    let guilds: Vec<_> = listing.guilds().iter().map(|guild| GuildView::new(guild, pictures)).collect();
    let frame = context.frame("Your guilds", Here::Guilds, visitor.navigation(context));
    page::render(&GuildsPage { frame, count: counted(guilds.len(), "guild"), guilds })
}

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

    pub(crate) fn new(listed: &ListedGuild, context: &DashboardContext, here: Option<Tab>) -> Self {
        let guild = GuildView::new(listed, &context.site.pictures);
        Self { guild, linked: listed.guild.linked, here }
    }
}

/// Returns the guild in the path.
pub(crate) fn guild_in(request: &HttpRequest) -> Result<GuildId, ApiError> {
    routing::parameter(request, "guild").parse().map_err(|_| ApiError::NotFound)
}

/// Returns a guild of the user's list. Others are not found, whether or not they exist.
pub(crate) async fn listed(
    context: &DashboardContext,
    request: &HttpRequest,
    user: UserId,
    guild: GuildId,
) -> Result<ListedGuild, ApiError> {
    let listed = listing(context, request, user).await?.guilds();
    listed.into_iter().find(|listed| listed.guild.id == guild).ok_or(ApiError::NotFound)
}

#[derive(Template)]
#[template(path = "permissions.html")]
struct PermissionsPage<'a> {
    frame: Frame<'a>,
    head: GuildHead,
    permissions: Vec<PermissionView>,
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
        permissions: PermissionView::all(&explanation),
    })
}
