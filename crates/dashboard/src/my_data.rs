//! `/my-data`: shows, exports and deletes all stored data of the user.

use crate::{
    bot::counted,
    context::Exchange,
    form::Form,
    page::{self, Account, Answer, Frame, Here, NO_STORE, see_other, with_cookie},
    visitor::{Visitor, navigation},
};
use actix_web::{
    HttpResponse,
    http::header::{self, ContentType},
};
use askama::Template;
use companion_domain::usecase::StoredUser;
use companion_http::{ApiError, forget_user, wire};

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

/// Shows a summary of the stored data.
pub(crate) async fn show(visitor: Visitor) -> Answer {
    let kept = kept(&stored(&visitor).await?);
    let frame = visitor.exchange.context.frame("My data", Here::MyData, visitor.navigation());
    page::show(&MyDataPage { frame, account: visitor.account(), kept })
}

/// Exports all stored data, in the management API's format.
pub(crate) async fn download(visitor: Visitor) -> Answer {
    let stored = stored(&visitor).await?;
    let mut response = HttpResponse::Ok();
    response
        .content_type(ContentType::json())
        .insert_header((header::CACHE_CONTROL, NO_STORE))
        .insert_header((header::CONTENT_DISPOSITION, "attachment; filename=\"my-data.json\""));
    Ok(response.body(serde_json::to_vec_pretty(&wire::StoredUser::from((visitor.user(), &stored)))?))
}

/// Asks for confirmation to forget the user.
pub(crate) async fn ask(visitor: Visitor) -> Answer {
    let frame = visitor.exchange.context.frame("Forget me", Here::MyData, visitor.navigation());
    page::show(&ForgetPage { frame, form_token: visitor.form_token() })
}

/// Forgets the user.
pub(crate) async fn forget(visitor: Visitor, _: Form) -> Answer {
    let Exchange { context, request } = &visitor.exchange;
    forget_user(&context.use_cases.forget, &context.storage_limiter, request, visitor.user()).await?;
    Ok(with_cookie(see_other("/forgotten")?, context.session_cookie.clear()?))
}

/// Confirms that the user was forgotten. It contains no personal data, so it needs no session.
pub(crate) async fn forgotten(exchange: Exchange) -> Answer {
    let visitor = navigation(&exchange, "/").await;
    page::show(&ForgottenPage { frame: exchange.context.frame("Forgotten", Here::Elsewhere, visitor) })
}

/// Reads the stored data. It is never empty, because a signed-in user has a session.
async fn stored(visitor: &Visitor) -> Result<StoredUser, ApiError> {
    let exchange = &visitor.exchange;
    let shown = exchange.read(exchange.context.use_cases.show_user.show(visitor.user()));
    Ok(shown.await?.unwrap_or_default())
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
