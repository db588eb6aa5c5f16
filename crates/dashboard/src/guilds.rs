//! `/guilds`: guilds of the user that have the bot.

use crate::{
    bot::counted,
    context::DashboardContext,
    page::{self, Frame, Here},
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
use companion_http::{ApiError, guilds_of, routing};

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
