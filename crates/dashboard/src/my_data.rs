//! `/my-data`: shows, exports and deletes all stored data of the user.

use crate::{
    bot::counted,
    context::DashboardContext,
    form::handle_form,
    page::{self, Account, Frame, Here, NO_STORE, see_other},
    visitor::{Visit, Visitor, signed_in},
};
use actix_web::{
    HttpRequest, HttpResponse,
    http::header::{self, ContentType},
    web,
};
use askama::Template;
use companion_domain::usecase::StoredUser;
use companion_http::{ApiError, deadline::within_storage, forget_user, routing, wire};

#[derive(Template)]
#[template(path = "my_data.html")]
struct MyDataPage<'a> {
    frame: Frame<'a>,
    account: Account,
    kept: Vec<(&'static str, String)>,
}

#[derive(Template)]
#[template(path = "forget.html")]
struct ForgetPage<'a> {
    frame: Frame<'a>,
    form_token: String,
}

#[derive(Template)]
#[template(path = "forgotten.html")]
struct ForgottenPage<'a> {
    frame: Frame<'a>,
}

/// Asks for confirmation, then forgets the user.
pub(crate) fn forget_resource(path: &'static str) -> routing::Resource {
    routing::resource(path, "GET, HEAD, POST, OPTIONS")
        .route(web::get().to(ask))
        .route(web::head().to(ask))
        .route(web::post().to(forget))
}

/// Shows a summary of the stored data.
pub(crate) async fn show(
    context: web::Data<DashboardContext>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    signed_in(&context, &request, async |visitor| {
        let stored = stored(&context, &request, &visitor).await?;
        let frame = context.frame("My data", Here::MyData, visitor.navigation(&context));
        page::show(&MyDataPage { frame, account: visitor.account(&context), kept: kept(&stored) })
    })
    .await
}

/// Exports all stored data, in the management API's format.
pub(crate) async fn download(
    context: web::Data<DashboardContext>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    signed_in(&context, &request, async |visitor| {
        let stored = stored(&context, &request, &visitor).await?;
        let shape = wire::StoredUser::new(visitor.session.user, &stored);
        let mut response = HttpResponse::Ok();
        response
            .content_type(ContentType::json())
            .insert_header((header::CACHE_CONTROL, NO_STORE))
            .insert_header((header::CONTENT_DISPOSITION, "attachment; filename=\"my-data.json\""));
        Ok(response.body(serde_json::to_vec_pretty(&shape)?))
    })
    .await
}

async fn ask(context: web::Data<DashboardContext>, request: HttpRequest) -> Result<HttpResponse, ApiError> {
    signed_in(&context, &request, async |visitor| {
        let frame = context.frame("Forget me", Here::MyData, visitor.navigation(&context));
        page::show(&ForgetPage { frame, form_token: visitor.form_token(&context) })
    })
    .await
}

async fn forget(
    context: web::Data<DashboardContext>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, ApiError> {
    handle_form(&context, &request, payload, context.settings.body_limit, async |visitor, _| {
        let user = visitor.session.user;
        forget_user(&context.use_cases.forget, &context.storage_limiter, &request, user).await?;
        let mut response = see_other("/forgotten")?;
        response.headers_mut().append(header::SET_COOKIE, context.session_cookie.clear()?);
        Ok(response)
    })
    .await
}

/// Confirms that the user was forgotten. It contains no personal data, so it needs no session.
pub(crate) async fn forgotten(
    context: web::Data<DashboardContext>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let visit = Visit::or_guest(&context, &request).await;
    let frame = context.frame("Forgotten", Here::Elsewhere, visit.navigation(&context, "/"));
    page::show(&ForgottenPage { frame })
}

/// Reads the stored data. It is never empty, because a signed-in user has a session.
async fn stored(
    context: &DashboardContext,
    request: &HttpRequest,
    visitor: &Visitor,
) -> Result<StoredUser, ApiError> {
    let shown = context.use_cases.show_user.show(visitor.session.user);
    Ok(within_storage(&context.storage_limiter, request, shown).await?.unwrap_or_default())
}

fn kept(stored: &StoredUser) -> Vec<(&'static str, String)> {
    let list = stored.grant.as_ref().and_then(|grant| grant.list.as_ref());
    let subscription = stored.subscription.as_ref().map(|kept| counted(kept.slots.get() as usize, "slot"));
    let named = |names: Vec<&str>| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let staff = stored.staff.iter().flat_map(|grants| grants.iter()).map(|grant| grant.as_str()).collect();
    let profile = stored.grant.as_ref().and_then(|grant| grant.profile.as_ref());
    vec![
        ("Your name and picture", profile.map_or("none".to_owned(), |profile| profile.name.to_string())),
        ("Devices that are signed in", stored.sessions.len().to_string()),
        ("Guilds in the platform's list of yours", list.map_or(0, |list| list.memberships.len()).to_string()),
        (
            "Guilds without the bot, with their names",
            list.map_or(0, |list| list.without_bot.len()).to_string(),
        ),
        ("Guilds in which the bot knows your roles", stored.members.len().to_string()),
        ("Subscription", subscription.unwrap_or_else(|| "none".to_owned())),
        ("Permissions that the team gave you by name", named(staff)),
        ("Feedback that you left", stored.feedback.len().to_string()),
    ]
}
