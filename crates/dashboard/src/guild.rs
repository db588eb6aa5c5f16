//! `/guilds/{guild}`: one guild, and what the user may do there, and why.

use crate::{
    context::DashboardContext,
    guilds::{GuildView, listing},
    page::{self, Frame, Here},
    reason::PermissionView,
    visitor::{Visitor, signed_in},
};
use actix_web::{HttpRequest, HttpResponse, web};
use askama::Template;
use companion_domain::model::GuildId;
use companion_http::{ApiError, deadline::within_storage};

#[derive(Template)]
#[template(path = "guild.html")]
struct GuildPage<'a> {
    frame: Frame<'a>,
    guild: GuildView,
    linked: bool,
    permissions: Vec<PermissionView>,
}

/// Shows a guild of the user's list. Others are not found, whether or not they exist.
pub(crate) async fn show(
    context: web::Data<DashboardContext>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    signed_in(&context, &request, async |visitor| {
        let guild: GuildId = request.match_info().query("guild").parse().map_err(|_| ApiError::NotFound)?;
        Ok(page::live(&render(&context, &request, &visitor, guild).await?))
    })
    .await
}

/// The page of a guild as text.
pub(crate) async fn render(
    context: &DashboardContext,
    request: &HttpRequest,
    visitor: &Visitor,
    guild: GuildId,
) -> Result<String, ApiError> {
    let user = visitor.session.user;
    let listed = listing(context, request, user).await?.guilds();
    let listed = listed.into_iter().find(|listed| listed.guild.id == guild).ok_or(ApiError::NotFound)?;
    let explain = context.use_cases.explain.explain(user, guild);
    let explanation = within_storage(&context.gate, request, explain).await?;
    let view = GuildView::new(&listed, &context.site.pictures);
    let frame = context.frame(listed.guild.name.as_str(), Here::Guilds, visitor.navigation(context));
    page::render(&GuildPage {
        frame,
        guild: view,
        linked: listed.guild.linked,
        permissions: PermissionView::all(&explanation),
    })
}
