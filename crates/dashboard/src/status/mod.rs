//! `/status`: the clusters and shards of the bot.

use crate::{
    bot::BotView,
    context::DashboardContext,
    page::{self, Frame, Here},
    visitor::Visit,
};
use actix_web::{HttpRequest, HttpResponse, web};
use askama::Template;
use companion_domain::change::Kind;
use companion_http::ApiError;

#[derive(Template)]
#[template(path = "status.html")]
struct StatusPage<'a> {
    frame: Frame<'a>,
    bot: BotView,
}

pub(crate) async fn show(
    context: web::Data<DashboardContext>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let visit = Visit::or_guest(&context, &request).await;
    context.projections.read(Kind::Cluster).await?;
    Ok(page::live(&render(&context, &visit)?))
}

/// Renders the status page.
pub(crate) fn render(context: &DashboardContext, visit: &Visit) -> Result<String, ApiError> {
    let bot = BotView::now(context);
    let bot =
        bot.ok_or_else(|| ApiError::StorageUnavailable("the bot's reports are not loaded yet".into()))?;
    let frame = context.frame("Status", Here::Status, visit.navigation(context, "/status"));
    page::render(&StatusPage { frame, bot })
}
