//! `/`: the bot, its status, and feedback.

use crate::{
    bot::{BotView, counted},
    context::{DashboardContext, SignedOut},
    date::Date,
    form::parameter,
    page::{self, Frame, Here},
    site::{Picture, Pictures},
    visitor::Visit,
};
use actix_web::{HttpRequest, HttpResponse, web};
use askama::Template;
use companion_domain::{change::Kind, model::Timestamp};
use companion_http::{ApiError, deadline::within_storage, wire::ShownFeedback};

#[derive(Template)]
#[template(path = "home.html")]
struct HomePage<'a> {
    frame: Frame<'a>,
    /// What the last action did.
    message: Option<&'static str>,
    /// How many guilds have the bot, and how many members they have.
    reach: Option<String>,
    bot: Option<BotView>,
    /// Entries with a text.
    feedback: Vec<FeedbackView>,
    /// Whether there is none at all, not even a rating without a text.
    no_feedback: bool,
}

/// A feedback entry.
pub(crate) struct FeedbackView {
    text: String,
    stars: u8,
    name: String,
    picture: Picture,
    date: Date,
}

impl FeedbackView {
    fn new(entry: ShownFeedback, pictures: &Pictures, now: Timestamp) -> Self {
        let ShownFeedback { text, rating: stars, timestamp, submitter } = entry;
        Self {
            text,
            stars,
            picture: pictures.picture(&submitter.avatar, &submitter.name),
            name: submitter.name,
            date: Date::of(Timestamp::from_seconds(timestamp).unwrap_or(now), now),
        }
    }
}

/// Shows the page. Feedback is omitted if it is unavailable; everything else is in memory.
pub(crate) async fn show(
    context: web::Data<DashboardContext>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let visit = Visit::or_guest(&context, &request).await;
    let now = context.clock.now();
    let _ = context.projections.read(Kind::Cluster).await;
    let feedback = picked_feedback(&context, &request).await.into_iter();
    let feedback = feedback.map(|entry| FeedbackView::new(entry, &context.site.pictures, now)).collect();
    let signed_out = parameter(&request, "signed-out").unwrap_or_default();
    let signed_out = SignedOut::ALL.into_iter().find(|one| one.word() == signed_out);
    let is_guest = !matches!(visit, Visit::SignedIn(_));
    let message = signed_out.filter(|_| is_guest).map(SignedOut::message);
    let reach = reach(&context).await;
    Ok(page::live(&render(&context, &visit, feedback, message, reach)?))
}

/// Returns the numbers of guilds and members in words, if they are known and not zero.
async fn reach(context: &DashboardContext) -> Option<String> {
    let totals = context.guild_totals().await.ok().flatten().filter(|totals| totals.guilds > 0)?;
    let count = |number: u64, what| counted(usize::try_from(number).unwrap_or(usize::MAX), what);
    Some(format!("In {} with {}", count(totals.guilds, "guild"), count(totals.members, "member")))
}

/// Picks feedback as the public API does: from memory, or from the store if there is more than fits.
async fn picked_feedback(context: &DashboardContext, request: &HttpRequest) -> Vec<ShownFeedback> {
    if let Some(picked) = context.projections.picked_feedback(&*context.clock) {
        return picked;
    }
    let picked =
        within_storage(&context.storage_limiter, request, context.use_cases.pick_feedback.pick()).await;
    picked.unwrap_or_default().iter().map(|entry| ShownFeedback::from(&**entry)).collect()
}

/// Renders the page with this feedback.
pub(crate) fn render(
    context: &DashboardContext,
    visit: &Visit,
    feedback: Vec<FeedbackView>,
    message: Option<&'static str>,
    reach: Option<String>,
) -> Result<String, ApiError> {
    let frame = context.frame("Home", Here::Home, visit.navigation(context, "/"));
    let no_feedback = feedback.is_empty();
    let feedback = feedback.into_iter().filter(|entry| !entry.text.trim().is_empty()).collect();
    page::render(&HomePage { frame, message, reach, bot: BotView::now(context), feedback, no_feedback })
}
