//! `/`: the bot, how it is, and what people think of it.

use crate::{
    bot::BotView,
    context::DashboardContext,
    date::Date,
    page::{self, Frame, Here},
    site::{Picture, Pictures},
    visitor::Visit,
};
use actix_web::{HttpRequest, HttpResponse, web};
use askama::Template;
use companion_domain::model::{Feedback, Timestamp};
use companion_http::{ApiError, deadline::within_storage};

#[derive(Template)]
#[template(path = "home.html")]
struct HomePage<'a> {
    frame: Frame<'a>,
    bot: Option<BotView>,
    feedback: Vec<FeedbackView>,
}

/// What someone thinks of the bot.
pub(crate) struct FeedbackView {
    text: String,
    stars: u8,
    name: String,
    picture: Picture,
    date: Date,
}

impl FeedbackView {
    fn new(entry: &Feedback, pictures: &Pictures, now: Timestamp) -> Self {
        Self {
            text: entry.text.to_string(),
            stars: entry.rating.stars(),
            name: entry.submitter.name.to_string(),
            picture: pictures.picture(entry.submitter.avatar.as_str(), entry.submitter.name.as_str()),
            date: Date::of(entry.submitted_at, now),
        }
    }
}

/// Shows the page, without feedback where there is none to be had: the rest needs only memory.
pub(crate) async fn show(
    context: web::Data<DashboardContext>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let visit = Visit::or_guest(&context, &request).await;
    let picked = within_storage(&context.gate, context.use_cases.pick_feedback.pick()).await;
    let now = context.clock.now();
    let feedback = picked.unwrap_or_default();
    let feedback =
        feedback.iter().map(|entry| FeedbackView::new(entry, &context.site.pictures, now)).collect();
    Ok(page::live(&render(&context, &visit, feedback)?))
}

/// The page with this feedback.
pub(crate) fn render(
    context: &DashboardContext,
    visit: &Visit,
    feedback: Vec<FeedbackView>,
) -> Result<String, ApiError> {
    let frame = context.frame("Home", Here::Home, visit.navigation(context, "/"));
    page::render(&HomePage { frame, bot: BotView::now(context), feedback })
}
