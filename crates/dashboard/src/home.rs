//! `/` and `/team`: the bot, its status, feedback, and the team by category.

use crate::{
    bot::{BotView, counted},
    context::{DashboardContext, Exchange, SIGNED_OUT},
    date::Date,
    page::{self, Answer, Frame, Here, Navigation},
    site::Picture,
    visitor::navigation,
};
use askama::Template;
use companion_domain::{
    change::Kind,
    model::{TeamMember, Timestamp},
};
use companion_http::{ApiError, wire::ShownFeedback};

#[derive(Template)]
#[template(path = "home.html")]
struct HomePage<'a> {
    frame: Frame<'a>,
    content: Content,
    bot: Option<BotView>,
    /// Whether there is no feedback at all, not even a rating without a text.
    no_feedback: bool,
}

/// What is not live on the page.
#[derive(Default)]
pub(crate) struct Content {
    /// What the last action did.
    message: Option<&'static str>,
    /// How many guilds have the bot, and how many members they have.
    reach: Option<String>,
    feedback: Vec<(ShownFeedback, Picture, Date)>,
}

/// Shows the page. Feedback is omitted if it is unavailable; everything else is in memory.
pub(crate) async fn show(exchange: Exchange) -> Answer {
    let visitor = navigation(&exchange, "/").await;
    let context = &exchange.context;
    let now = context.clock.now();
    let _ = context.projections.read(Kind::Cluster).await;
    let shown = |entry: ShownFeedback| {
        let picture = context.site.pictures.picture(&entry.submitter.avatar, &entry.submitter.name);
        let date = Date::of(Timestamp::from_seconds(entry.timestamp).unwrap_or(now), now);
        (entry, picture, date)
    };
    let feedback = picked_feedback(&exchange).await.into_iter().map(shown).collect();
    let signed_out = exchange.parameter("signed-out").filter(|_| visitor.account.is_none());
    let message = SIGNED_OUT.into_iter().find(|(word, _)| signed_out.as_deref() == Some(*word));
    let message = message.map(|(_, message)| message);
    let content = Content { message, reach: reach(context).await, feedback };
    Ok(page::live(&render(context, visitor, content)?))
}

/// Returns the numbers of guilds and members in words, if they are known and not zero.
async fn reach(context: &DashboardContext) -> Option<String> {
    let totals = context.guild_totals().await.ok().flatten().filter(|totals| totals.guilds > 0)?;
    let count = |number: u64, what| counted(usize::try_from(number).unwrap_or(usize::MAX), what);
    Some(format!("In {} with {}", count(totals.guilds, "guild"), count(totals.members, "member")))
}

/// Picks feedback as the public API does: from memory, or from the store if there is more than fits.
async fn picked_feedback(exchange: &Exchange) -> Vec<ShownFeedback> {
    let context = &exchange.context;
    if let Some(picked) = context.projections.picked_feedback(&*context.clock) {
        return picked;
    }
    let picked = exchange.read(context.use_cases.pick_feedback.pick()).await;
    picked.unwrap_or_default().iter().map(|entry| ShownFeedback::from(&**entry)).collect()
}

/// Renders the page with this content. Feedback without a text is left out.
pub(crate) fn render(
    context: &DashboardContext,
    visitor: Navigation,
    mut content: Content,
) -> Result<String, ApiError> {
    let frame = context.frame("Home", Here::Home, visitor);
    let no_feedback = content.feedback.is_empty();
    content.feedback.retain(|(entry, ..)| !entry.text.trim().is_empty());
    page::render(&HomePage { frame, content, bot: BotView::now(context), no_feedback })
}

#[derive(Template)]
#[template(path = "team.html")]
struct TeamPage<'a> {
    frame: Frame<'a>,
    /// The members of each category.
    categories: Vec<Vec<(&'a TeamMember, Picture)>>,
}

pub(crate) async fn show_team(exchange: Exchange) -> Answer {
    let visitor = navigation(&exchange, "/team").await;
    let context = &exchange.context;
    context.projections.read(Kind::Team).await?;
    let team = context.projections.team_members();
    let team = team.ok_or_else(|| ApiError::StorageUnavailable("the team is not loaded yet".into()))?;
    let picture = |member: &TeamMember| {
        context.site.pictures.picture(member.user.avatar.as_str(), member.user.name.as_str())
    };
    let categories = team.chunk_by(|one, other| one.category == other.category);
    let categories =
        categories.map(|members| members.iter().map(|member| (member, picture(member))).collect()).collect();
    page::show(&TeamPage { frame: context.frame("Team", Here::Team, visitor), categories })
}
