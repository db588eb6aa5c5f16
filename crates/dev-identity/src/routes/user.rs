//! `GET /users/@me` and `GET /users/@me/guilds`.

use super::{answer, header_text};
use crate::{
    Route,
    platform::{Account, Parameters},
    state::ServerState,
};
use actix_web::{HttpRequest, HttpResponse, http::header, web};
use serde_json::{Value, json};

/// The largest page of guilds, which is also the default.
const MAX_PAGE: usize = 200;

pub(super) async fn user(request: HttpRequest, shared: web::Data<ServerState>) -> HttpResponse {
    answer(Route::User, &request, &shared, || {
        on_behalf_of_user(&request, &shared, Route::User, "identify", Account::to_json)
    })
    .await
}

pub(super) async fn guilds(request: HttpRequest, shared: web::Data<ServerState>) -> HttpResponse {
    let user = bearer(&request).and_then(|access| shared.world().platform.grants.user_of(access));
    let _under_way = user.map(|user| shared.begin(user, Route::Guilds));
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
    match world.limits.take(route, access, now) {
        Some(bucket) => bucket.answer(route, shown),
        None => HttpResponse::Ok().json(shown),
    }
}
