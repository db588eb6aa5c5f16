//! `/status`: the bot's health, notices and history, for people, programs and other sites.

mod history;
mod public;

pub(crate) use self::public::{badge, json};

use self::history::{DayView, IncidentView, NoticeView};
use crate::{
    bot::BotView,
    context::{DashboardContext, Exchange},
    page::{self, Answer, Frame, Here, Navigation},
    visitor::navigation,
};
use askama::Template;
use companion_domain::change::Kind;
use companion_http::ApiError;

#[derive(Template)]
#[template(path = "status.html")]
struct StatusPage<'a> {
    frame: Frame<'a>,
    bot: BotView,
    notices: Vec<NoticeView>,
    days: Vec<DayView>,
    incidents: Vec<IncidentView>,
}

pub(crate) async fn show(exchange: Exchange) -> Answer {
    let visitor = navigation(&exchange, "/status").await;
    exchange.context.projections.read(Kind::Cluster).await?;
    Ok(page::live(&render(&exchange.context, visitor)?))
}

fn not_loaded() -> ApiError {
    ApiError::StorageUnavailable("the bot's reports are not loaded yet".into())
}

/// Renders the status page.
pub(crate) fn render(context: &DashboardContext, visitor: Navigation) -> Result<String, ApiError> {
    let bot = BotView::now(context).ok_or_else(not_loaded)?;
    let periods = context.projections.periods().ok_or_else(not_loaded)?;
    let notices = context.projections.notices().ok_or_else(not_loaded)?;
    let now = context.clock.now();
    page::render(&StatusPage {
        frame: context.frame("Status", Here::Status, visitor),
        bot,
        notices: NoticeView::current(&notices, now),
        days: DayView::all(&periods, now),
        incidents: IncidentView::last(&periods, &notices, now),
    })
}
