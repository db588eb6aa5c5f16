//! `/team`: the team by category.

use crate::{
    context::DashboardContext,
    page::{self, Frame, Here},
    site::{Picture, Pictures},
    visitor::Visit,
};
use actix_web::{HttpRequest, HttpResponse, web};
use askama::Template;
use companion_domain::{change::Kind, model::TeamMember};
use companion_http::ApiError;

#[derive(Template)]
#[template(path = "team.html")]
struct TeamPage<'a> {
    frame: Frame<'a>,
    categories: Vec<Category>,
}

struct Category {
    name: String,
    members: Vec<MemberView>,
}

struct MemberView {
    name: String,
    username: String,
    role: String,
    /// Always `#RRGGBB`.
    color: String,
    picture: Picture,
}

impl MemberView {
    fn new(member: &TeamMember, pictures: &Pictures) -> Self {
        Self {
            name: member.user.name.to_string(),
            username: member.user.username.to_string(),
            role: member.role.to_string(),
            color: member.color.as_str().to_owned(),
            picture: pictures.picture(member.user.avatar.as_str(), member.user.name.as_str()),
        }
    }
}

pub(crate) async fn show(
    context: web::Data<DashboardContext>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let visit = Visit::or_guest(&context, &request).await;
    context.projections.read(Kind::Team).await?;
    let team = context.projections.team_members();
    let team = team.ok_or_else(|| ApiError::StorageUnavailable("the team is not loaded yet".into()))?;
    let mut categories: Vec<Category> = Vec::new();
    for member in team.iter() {
        let view = MemberView::new(member, &context.site.pictures);
        match categories.last_mut() {
            Some(last) if last.name == member.category.as_str() => last.members.push(view),
            _ => categories.push(Category { name: member.category.to_string(), members: vec![view] }),
        }
    }
    let frame = context.frame("Team", Here::Team, visit.navigation(&context, "/team"));
    page::show(&TeamPage { frame, categories })
}
