//! `POST /oauth2/token`, `POST /oauth2/token/revoke`, `GET /users/@me` and `GET /users/@me/guilds`.

use crate::{
    Route, fault,
    platform::{Account, Credentials, OauthError, Parameters, Platform},
    state::ServerState,
};
use actix_web::{HttpRequest, HttpResponse, http::header, web};
use serde_json::{Value, json};
use std::time::Duration;

/// Counts the call, applies the latency, waits while the route is held, responds or fails as planned, and counts the
/// response. Rejects clients without a `User-Agent`.
async fn answer(
    route: Route,
    request: &HttpRequest,
    shared: &ServerState,
    serve: impl FnOnce() -> HttpResponse,
) -> HttpResponse {
    shared.count(|calls| *calls.of_routes.entry(route).or_default() += 1);
    if !shared.latency.is_zero() {
        tokio::time::sleep(shared.latency).await;
    }
    shared.until(|calls| calls.held.get(&route).is_none_or(|holds| *holds == 0)).await;
    let response = if header_text(request, &header::USER_AGENT).is_none_or(str::is_empty) {
        HttpResponse::Forbidden().json(json!({"message": "a User-Agent is required", "code": 40333}))
    } else {
        let planned = shared.world().faults.next(route);
        match planned {
            None => serve(),
            Some(fault) => fault::respond_with(&fault, request).await,
        }
    };
    shared.count(|calls| *calls.answers.entry((route, response.status().as_u16())).or_default() += 1);
    response
}

fn header_text<'a>(request: &'a HttpRequest, name: &header::HeaderName) -> Option<&'a str> {
    request.headers().get(name)?.to_str().ok()
}

pub(super) async fn token(
    request: HttpRequest,
    shared: web::Data<ServerState>,
    body: web::Bytes,
) -> HttpResponse {
    let form = Parameters::read(&body).ok();
    let refresh = form.as_ref().and_then(|form| form.get("refresh_token"));
    let _under_way = refresh.and_then(|refresh| shared.begin(refresh, Route::Token));
    answer(Route::Token, &request, &shared, || {
        authenticated(&request, &shared, &body, |platform, client, form, now| {
            match form.required("grant_type")? {
                "authorization_code" => platform.exchange(client, form, now),
                "refresh_token" => platform.renew(client, form, now),
                _ => Err(OauthError::UnsupportedGrantType),
            }
        })
    })
    .await
}

pub(super) async fn revoke(
    request: HttpRequest,
    shared: web::Data<ServerState>,
    body: web::Bytes,
) -> HttpResponse {
    answer(Route::Revoke, &request, &shared, || {
        authenticated(&request, &shared, &body, |platform, client, form, _| platform.revoke(client, form))
    })
    .await
}

/// Responds to a client with the right credentials with what `work` returns, and with an OAuth error otherwise.
fn authenticated(
    request: &HttpRequest,
    shared: &ServerState,
    body: &[u8],
    work: impl FnOnce(&mut Platform, &str, &Parameters, Duration) -> Result<Value, OauthError>,
) -> HttpResponse {
    let authorization = header_text(request, &header::AUTHORIZATION);
    let mut world = shared.world();
    let now = world.now();
    let answered = Parameters::read(body).and_then(|form| {
        let credentials = Credentials::read(authorization, &form)?;
        world.platform.authenticate(&credentials)?;
        work(&mut world.platform, &credentials.id, &form, now)
    });
    let (mut response, content) = match answered {
        Ok(content) => (HttpResponse::Ok(), content),
        Err(error) => {
            let mut response = match error {
                OauthError::InvalidClient => HttpResponse::Unauthorized(),
                _ => HttpResponse::BadRequest(),
            };
            if error == OauthError::InvalidClient && authorization.is_some() {
                response.insert_header((header::WWW_AUTHENTICATE, "Basic realm=\"oauth2\""));
            }
            let (word, description) = error.words();
            (response, json!({"error": word, "error_description": description}))
        }
    };
    response.insert_header((header::CACHE_CONTROL, "no-store")).json(content)
}

/// The largest page of guilds, which is also the default.
const MAX_PAGE: usize = 200;

pub(super) async fn user(request: HttpRequest, shared: web::Data<ServerState>) -> HttpResponse {
    answer(Route::User, &request, &shared, || {
        on_behalf_of_user(&request, &shared, Route::User, "identify", Account::to_json)
    })
    .await
}

pub(super) async fn guilds(request: HttpRequest, shared: web::Data<ServerState>) -> HttpResponse {
    let _under_way = bearer(&request).and_then(|access| shared.begin(access, Route::Guilds));
    answer(Route::Guilds, &request, &shared, || {
        let Some((limit, after)) = page(&request) else {
            return HttpResponse::BadRequest().json(json!({"message": "Invalid Form Body", "code": 50035}));
        };
        on_behalf_of_user(&request, &shared, Route::Guilds, "guilds", |account| {
            account.guild_page(after, limit).into()
        })
    })
    .await
}

fn bearer(request: &HttpRequest) -> Option<&str> {
    header_text(request, &header::AUTHORIZATION)?.strip_prefix("Bearer ")
}

fn page(request: &HttpRequest) -> Option<(usize, u64)> {
    let query = Parameters::read(request.query_string().as_bytes()).ok()?;
    let limit = query.get("limit").map_or(Ok(MAX_PAGE), str::parse).ok()?;
    let after = query.get("after").map_or(Ok(0), str::parse).ok()?;
    (1..=MAX_PAGE).contains(&limit).then_some((limit, after))
}

fn on_behalf_of_user(
    request: &HttpRequest,
    shared: &ServerState,
    route: Route,
    scope: &str,
    show: impl FnOnce(&Account) -> Value,
) -> HttpResponse {
    let mut world = shared.world();
    let now = world.now();
    let shown =
        bearer(request).and_then(|access| Some((access, show(world.platform.bearer(access, scope, now)?))));
    let Some((access, shown)) = shown else {
        return HttpResponse::Unauthorized().json(json!({"message": "401: Unauthorized", "code": 0}));
    };
    world.limits.answer(route, access, now, shown)
}
