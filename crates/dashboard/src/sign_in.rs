//! `/sign-in` and `/callback`: OAuth sign-in at the platform. `/sign-out`.

use crate::{
    context::{DashboardContext, Exchange, PlatformApplication},
    failure::error_page,
    form::Form,
    page::{Answer, Navigation, see_other, with_cookie},
    pending_sign_in::{LIFETIME, PendingSignIn, return_path},
    visitor::{Visit, Visitor},
};
use actix_web::http::StatusCode;
use companion_domain::{
    model::{Invalid, WebUrl},
    port::NEEDED_SCOPES,
};
use companion_http::{ApiError, Client, SentCode, audit::Audit, end_session, headers::user_agent};
use tokio::time::Instant;

/// Redirects to the platform. A user who is already signed in goes straight to the return path.
pub(crate) async fn begin(exchange: Exchange) -> Answer {
    let asked = exchange.parameter("return").unwrap_or_default();
    let (back, context) = (return_path(&asked), &exchange.context);
    if let Visit::SignedIn(_) = Visit::of(&exchange).await? {
        return see_other(back);
    }
    let application = context.settings.platform.as_ref().ok_or(ApiError::SignInNotConfigured)?;
    let (pending, kept) =
        PendingSignIn::begin(&context.settings.keys, &*context.entropy, context.clock.now(), back);
    let response = see_other(&authorize_url(context, application, &pending)?)?;
    Ok(with_cookie(response, context.sign_in_cookie.set(&kept, LIFETIME.get())?))
}

/// Handles the redirect back from the platform.
pub(crate) async fn finish(exchange: Exchange) -> Answer {
    let begun = Instant::now();
    let Exchange { context, request } = &exchange;
    let kept = context.sign_in_cookie.read(request.headers());
    let pending =
        kept.and_then(|kept| PendingSignIn::resume(&context.settings.keys, kept, context.clock.now()));
    let state = exchange.parameter("state").unwrap_or_default();
    let Some(pending) = pending.filter(|pending| pending.state == state) else {
        return without_pending_sign_in(&exchange).await;
    };
    let response = match exchange.parameter("error") {
        Some(error) if error == "access_denied" => declined(&exchange, &pending)?,
        Some(_) => return Err(ApiError::ProviderFailed("the platform refused the sign-in".into())),
        None => match sign_in(&exchange, begun, &pending).await {
            // A page of its own, because this one cannot be loaded again: the code is used.
            Err(ApiError::Blocked) => see_other("/blocked")?,
            signed_in => signed_in?,
        },
    };
    Ok(with_cookie(response, context.sign_in_cookie.clear()?))
}

async fn sign_in(exchange: &Exchange, begun: Instant, pending: &PendingSignIn) -> Answer {
    let Exchange { context, request } = exchange;
    let client = Client::of(request, &context.settings.trusted_proxies);
    let sent = context.sign_ins.check(client).and_then(|()| {
        let code = exchange.parameter("code").ok_or(ApiError::IdpCodeMissing)?;
        let code = context.sign_ins.read_code(client, &code)?;
        Ok(SentCode {
            code,
            verifier: pending.verifier(),
            redirect: redirect_uri(context)?,
            user_agent: user_agent(request.headers()),
        })
    });
    let signed_in = context.sign_ins.sign_in(begun, client, Audit::of(request, "sign_in"), sent).await?;
    let lifetime = context.settings.session_lifetime.get();
    let cookie = context.session_cookie.set(signed_in.token.expose(), lifetime)?;
    Ok(with_cookie(see_other(&pending.back)?, cookie))
}

/// Says that the user is blocked, to a browser whose sign-in was refused for that.
pub(crate) async fn blocked() -> Answer {
    Err(ApiError::Blocked)
}

/// Signs out.
pub(crate) async fn sign_out(visitor: Visitor, _: Form) -> Answer {
    let Exchange { context, request } = &visitor.exchange;
    let token = context.session_cookie.read(request.headers()).unwrap_or_default().to_owned();
    match end_session(&context.use_cases.sessions, &context.storage_limiter, request, token).await {
        // The session has ended meanwhile, as requested.
        Ok(_) | Err(ApiError::TokenInvalid) => context.without_session("here"),
        Err(error) => Err(error),
    }
}

/// Handles a callback without a valid pending sign-in: the page was reloaded, cookies are off, the sign-in expired, or
/// the site was opened under another host name. A user who is signed in goes on to their guilds.
async fn without_pending_sign_in(exchange: &Exchange) -> Answer {
    if let Visit::SignedIn(_) = Visit::of(exchange).await? {
        return see_other("/guilds");
    }
    let words = "This browser did not begin this sign-in, or it was too long ago. If it happens again, allow cookies \
                 for this site.";
    // The absolute URL, in case the site was opened under another host name.
    let link = format!("{}/sign-in", exchange.context.settings.url);
    page_of(exchange, StatusCode::BAD_REQUEST, ("This sign-in is over", words), (&link, "Sign in again"))
}

fn declined(exchange: &Exchange, pending: &PendingSignIn) -> Answer {
    let words =
        "You chose not to sign in, so nothing was shared with us. You can change your mind at any time.";
    let link = format!("/sign-in?return={}", pending.back);
    page_of(exchange, StatusCode::FORBIDDEN, ("You are not signed in", words), (&link, "Sign in after all"))
}

fn page_of(exchange: &Exchange, status: StatusCode, words: (&str, &str), way_on: (&str, &str)) -> Answer {
    let guest = Navigation::guest(exchange.theme(), way_on.0.to_owned());
    error_page(&exchange.context.site, status, guest, words, &[way_on], None)
}

fn authorize_url(
    context: &DashboardContext,
    application: &PlatformApplication,
    pending: &PendingSignIn,
) -> Result<String, ApiError> {
    let url = url::Url::parse(application.authorize_url.as_str());
    let mut url = url.map_err(|error| ApiError::Internal(error.into()))?;
    url.query_pairs_mut()
        .append_pair("response_type", "code")
        .append_pair("client_id", &application.client_id)
        .append_pair("redirect_uri", redirect_uri(context)?.as_str())
        .append_pair("scope", &NEEDED_SCOPES.join(" "))
        .append_pair("state", &pending.state)
        .append_pair("code_challenge", &pending.challenge())
        .append_pair("code_challenge_method", "S256");
    Ok(url.into())
}

fn redirect_uri(context: &DashboardContext) -> Result<WebUrl, ApiError> {
    let uri = format!("{}/callback", context.settings.url);
    uri.parse().map_err(|error: Invalid| ApiError::Internal(error.into()))
}
