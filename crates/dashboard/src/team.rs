//! `/team`: the team by category.

use crate::{
    context::Exchange,
    page::{self, Answer, Frame, Here},
    site::Picture,
    visitor::navigation,
};
use askama::Template;
use companion_domain::{change::Kind, model::TeamMember};
use companion_http::ApiError;

#[derive(Template)]
#[template(path = "team.html")]
struct TeamPage<'a> {
    frame: Frame<'a>,
    /// The members of each category.
    categories: Vec<Vec<(&'a TeamMember, Picture)>>,
}

pub(crate) async fn show(exchange: Exchange) -> Answer {
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
