//! `/sign-in` and `/callback`: OAuth sign-in at the platform. `/sign-out`.

use crate::{
    context::{DashboardContext, PlatformApplication, SignedOut},
    failure::{ErrorContent, error_page},
    form::{handle_form, parameter},
    page::{Navigation, see_other},
    pending_sign_in::{LIFETIME, PendingSignIn, ReturnPath},
    visitor::Visit,
};
use actix_web::{
    HttpRequest, HttpResponse,
    http::{StatusCode, header},
    web,
};
use companion_domain::{model::WebUrl, port::NEEDED_SCOPES};
use companion_http::{ApiError, Client, SentCode, audit::Audit, end_session, headers::user_agent, routing};
use tokio::time::Instant;

/// Redirects to the platform. A user who is already signed in goes straight to the return path.
pub(crate) async fn begin(
    context: web::Data<DashboardContext>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let back = ReturnPath::of(parameter(&request, "return").as_deref());
    if let Visit::SignedIn(_) = Visit::of(&context, &request).await? {
        return see_other(back.as_str());
    }
    let application = context.settings.platform.as_ref().ok_or(ApiError::SignInNotConfigured)?;
    let (pending, kept) =
        PendingSignIn::begin(&context.settings.keys, &*context.entropy, context.clock.now(), back);
    let mut response = see_other(&authorize_url(&context, application, &pending)?)?;
    let cookie = context.sign_in_cookie.set(&kept, LIFETIME.get())?;
    response.headers_mut().append(header::SET_COOKIE, cookie);
    Ok(response)
}

/// Handles the redirect back from the platform.
pub(crate) async fn finish(
    context: web::Data<DashboardContext>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let begun = Instant::now();
    let kept = context.sign_in_cookie.read(request.headers());
    let pending =
        kept.and_then(|kept| PendingSignIn::resume(&context.settings.keys, kept, context.clock.now()));
    let state = parameter(&request, "state").unwrap_or_default();
    let Some(pending) = pending.filter(|pending| pending.state == state) else {
        return without_pending_sign_in(&context, &request).await;
    };
    let mut response = match parameter(&request, "error") {
        Some(error) if error == "access_denied" => declined(&context, &request, &pending)?,
        Some(_) => return Err(ApiError::ProviderFailed("the platform refused the sign-in".into())),
        None => match exchange(&context, &request, begun, &pending).await {
            // A page of its own, because this one cannot be loaded again: the code is used.
            Err(ApiError::Blocked) => see_other("/blocked")?,
            exchanged => exchanged?,
        },
    };
    response.headers_mut().append(header::SET_COOKIE, context.sign_in_cookie.clear()?);
    Ok(response)
}

async fn exchange(
    context: &DashboardContext,
    request: &HttpRequest,
    begun: Instant,
    pending: &PendingSignIn,
) -> Result<HttpResponse, ApiError> {
    let client = Client::of(request, &context.settings.trusted_proxies);
    let sent = context.sign_ins.check(client).and_then(|()| {
        let code = parameter(request, "code").ok_or(ApiError::IdpCodeMissing)?;
        let code = context.sign_ins.read_code(client, &code)?;
        Ok(SentCode {
            code,
            verifier: pending.verifier(),
            redirect: redirect_uri(context)?,
            user_agent: user_agent(request.headers()),
        })
    });
    let signed_in = context.sign_ins.sign_in(begun, client, Audit::of(request, "sign_in"), sent).await?;
    let mut response = see_other(pending.back.as_str())?;
    let lifetime = context.settings.session_lifetime.get();
    let cookie = context.session_cookie.set(signed_in.token.expose(), lifetime)?;
    response.headers_mut().append(header::SET_COOKIE, cookie);
    Ok(response)
}

/// Says that the user is blocked, to a browser whose sign-in was refused for that.
pub(crate) async fn blocked() -> Result<HttpResponse, ApiError> {
    Err(ApiError::Blocked)
}

/// Signs out.
pub(crate) fn sign_out_resource(path: &'static str) -> routing::Resource {
    routing::resource(path, "POST, OPTIONS").route(web::post().to(sign_out))
}

async fn sign_out(
    context: web::Data<DashboardContext>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, ApiError> {
    handle_form(&context, &request, payload, context.settings.body_limit, async |_, _| {
        let token = context.session_cookie.read(request.headers()).unwrap_or_default().to_owned();
        let ended = end_session(&context.use_cases.sessions, &context.storage_limiter, &request, token);
        match ended.await {
            // The session has ended meanwhile, as requested.
            Ok(_) | Err(ApiError::TokenInvalid) => {}
            Err(error) => return Err(error),
        }
        context.without_session(SignedOut::ThisDevice)
    })
    .await
}

/// Handles a callback without a valid pending sign-in: the page was reloaded, cookies are off, the sign-in expired, or
/// the site was opened under another host name. A user who is signed in goes on to their guilds.
async fn without_pending_sign_in(
    context: &DashboardContext,
    request: &HttpRequest,
) -> Result<HttpResponse, ApiError> {
    if let Visit::SignedIn(_) = Visit::of(context, request).await? {
        return see_other("/guilds");
    }
    let words = "This browser did not begin this sign-in, or it was too long ago. If it happens again, allow cookies \
                 for this site.";
    // The absolute URL, in case the site was opened under another host name.
    let way_on = (format!("{}/sign-in", context.settings.url), "Sign in again");
    page_of(context, request, StatusCode::BAD_REQUEST, "This sign-in is over", words, way_on)
}

fn declined(
    context: &DashboardContext,
    request: &HttpRequest,
    pending: &PendingSignIn,
) -> Result<HttpResponse, ApiError> {
    let words =
        "You chose not to sign in, so nothing was shared with us. You can change your mind at any time.";
    let way_on = (format!("/sign-in?return={}", pending.back.as_str()), "Sign in after all");
    page_of(context, request, StatusCode::FORBIDDEN, "You are not signed in", words, way_on)
}

fn page_of(
    context: &DashboardContext,
    request: &HttpRequest,
    status: StatusCode,
    title: &'static str,
    words: &str,
    way_on: (String, &'static str),
) -> Result<HttpResponse, ApiError> {
    let guest = Navigation::Guest { sign_in: way_on.0.clone(), theme: context.theme(request) };
    let (place, name) = way_on;
    let ways_on = vec![(place, name.to_owned())];
    let shown = ErrorContent { title: title.to_owned(), words: words.to_owned(), ways_on, request_id: None };
    error_page(&context.site, status, guest, shown)
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
    uri.parse().map_err(|error: companion_domain::model::Invalid| ApiError::Internal(error.into()))
}
