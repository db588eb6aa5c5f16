//! Changes a running server from the same process, and from others with JSON:
//!
//! | method and path below `/control` | body, or response |
//! |---|---|
//! | `POST /codes` | `user`, optional `redirect_uri`, `code_challenge`, `client_id`, `scope`; returns `code` |
//! | `POST /faults/{route}` | `kind` and its fields, optional `times` |
//! | `DELETE /faults` | clears the faults of all routes |
//!
//! Bodies must be `application/json`, which a foreign web page cannot send without a CORS preflight. DNS rebinding
//! avoids the preflight, so requests must also name a loopback host: see [`only_loopback`].

use crate::{
    Account, AccountGuild, Client, CodeTerms, Fault, Options, RateLimit, Route, UserCalls,
    fault::PlannedFault,
    state::{Calls, ServerState},
};
use actix_web::{
    Error, HttpRequest, HttpResponse,
    body::BoxBody,
    dev::{ServiceRequest, ServiceResponse},
    http::{header, uri::Authority},
    middleware::Next,
    web::{self, Data, ServiceConfig},
};
use serde::Deserialize;
use serde_json::json;
use std::{collections::BTreeMap, fmt, net::IpAddr, sync::Arc, time::Duration};

/// Controls a running server: its users, its clock, its faults. Clones control the same server.
#[derive(Clone)]
pub struct Control(pub(crate) Arc<ServerState>);

impl Control {
    /// Creates a server that does not listen.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self(Arc::new(ServerState::new(options)))
    }

    /// Adds an application, or replaces the one with the same id.
    pub fn put_client(&self, client: Client) {
        self.0.world().platform.put_client(client);
    }

    /// Adds a user, or replaces the one with the same id. Tokens stay as they are.
    pub fn put_user(&self, account: Account) {
        self.0.world().platform.put_account(account);
    }

    /// Replaces the guilds of a user. Returns false if the user is unknown.
    pub fn set_guilds(&self, user: u64, guilds: Vec<AccountGuild>) -> bool {
        self.0.world().platform.set_guilds(user, guilds)
    }

    /// Issues a code for a user, as if the user had just consented. For an unknown user the code is rejected.
    #[must_use]
    pub fn mint_code(&self, user: u64) -> String {
        self.mint_code_with(user, CodeTerms::default())
    }

    /// Issues a code for a user that can only be exchanged on these terms.
    #[must_use]
    pub fn mint_code_with(&self, user: u64, terms: CodeTerms) -> String {
        let mut world = self.0.world();
        let now = world.now();
        world.platform.issue_code(user, terms, true, now)
    }

    /// Moves the server's clock forward.
    pub fn forward(&self, by: Duration) {
        let advanced = &mut self.0.world().advanced;
        *advanced = advanced.saturating_add(by);
    }

    /// Expires access tokens, of one user or of all. Refresh tokens still work.
    pub fn expire_access(&self, user: Option<u64>) {
        let mut world = self.0.world();
        let now = world.now();
        world.platform.grants.expire_access(user, now);
    }

    /// Revokes all tokens of a user, as when the user removes the application.
    pub fn end_authorisation(&self, user: u64) {
        self.0.world().platform.grants.end(user, |_| true);
    }

    /// Whether the user has tokens that can still be used or refreshed.
    #[must_use]
    pub fn is_authorised(&self, user: u64) -> bool {
        self.0.world().platform.grants.any_of(user)
    }

    /// Replaces the rate limit per token and route.
    pub fn limit_rate(&self, limit: Option<RateLimit>) {
        self.0.world().limits.set(limit);
    }

    /// Makes the route fail in this way until it is cleared, after earlier planned faults.
    pub fn fail(&self, route: Route, fault: Fault) {
        self.plan(route, PlannedFault { fault, times: None });
    }

    /// Makes the route fail in this way `times` times, after earlier planned faults.
    pub fn fail_times(&self, route: Route, fault: Fault, times: u32) {
        self.plan(route, PlannedFault { fault, times: Some(times) });
    }

    pub(crate) fn plan(&self, route: Route, fault: PlannedFault) {
        self.0.world().faults.0.entry(route).or_default().push_back(fault);
    }

    /// Clears all faults.
    pub fn clear_all(&self) {
        self.0.world().faults.0.clear();
    }

    /// Returns how often the route was called, whatever the response.
    #[must_use]
    pub fn calls(&self, route: Route) -> u64 {
        self.0.world().calls.of(route)
    }

    /// Returns the calls made on behalf of a user.
    #[must_use]
    pub fn calls_of(&self, user: u64) -> UserCalls {
        self.0.world().calls.of_users.get(&user).map(|(calls, _)| *calls).unwrap_or_default()
    }

    /// Returns how often each route responded with each status. An aborted connection counts as 500.
    #[must_use]
    pub fn answers(&self) -> BTreeMap<(Route, u16), u64> {
        self.0.world().calls.answers.clone()
    }

    /// Returns how many connections were opened so far.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.0.world().calls.connections
    }

    /// Waits until the route has been called this often.
    pub async fn called(&self, route: Route, times: u64) {
        self.0.until(|calls| calls.of(route) >= times).await;
    }

    /// Waits until the route has responded this often, with any status.
    pub async fn answered(&self, route: Route, times: u64) {
        let answers = |calls: &Calls| -> u64 {
            let statuses = (route, 0)..=(route, u16::MAX);
            calls.answers.range(statuses).map(|(_, count)| count).sum()
        };
        self.0.until(|calls| answers(calls) >= times).await;
    }

    /// Blocks responses of the route until the returned guard is dropped.
    #[must_use]
    pub fn hold(&self, route: Route) -> Held {
        *self.0.world().calls.held.entry(route).or_default() += 1;
        Held { control: self.clone(), route }
    }
}

/// Blocks calls of a route until dropped.
#[derive(Debug)]
pub struct Held {
    control: Control,
    route: Route,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.control.0.count(|calls| *calls.held.entry(self.route).or_insert(1) -= 1);
    }
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control").finish_non_exhaustive()
    }
}

/// Rejects requests whose `Host` does not name this machine.
pub(crate) async fn only_loopback(
    request: ServiceRequest,
    next: Next<BoxBody>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    if names_loopback(request.request()) {
        return next.call(request).await;
    }
    let message = "the control interface answers to localhost, 127.0.0.1 and [::1] only; see the header Host";
    Ok(request.into_response(HttpResponse::Forbidden().json(json!({"message": message}))))
}

fn names_loopback(request: &HttpRequest) -> bool {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok()?.parse().ok());
    let is_loopback = |authority: &Authority| {
        let name = authority.host();
        let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
    };
    host.is_some_and(|host| is_loopback(&host)) && request.uri().authority().is_none_or(is_loopback)
}

pub(crate) fn configure(config: &mut ServiceConfig) {
    config
        .service(web::resource("/codes").route(web::post().to(mint_code)))
        .service(web::resource("/faults").route(web::delete().to(clear_all)))
        .service(web::resource("/faults/{route}").route(web::post().to(plan)));
}

type ControlData = Data<Control>;

#[derive(Deserialize)]
struct MintCode {
    user: String,
    #[serde(flatten)]
    terms: CodeTerms,
}

async fn mint_code(control: ControlData, mint: web::Json<MintCode>) -> HttpResponse {
    let MintCode { user, terms } = mint.into_inner();
    match user.parse() {
        Ok(user) => HttpResponse::Ok().json(json!({"code": control.mint_code_with(user, terms)})),
        Err(_) => HttpResponse::BadRequest().json(json!({"message": "`user` must be an id, as text"})),
    }
}

async fn plan(control: ControlData, route: web::Path<Route>, fault: web::Json<PlannedFault>) -> HttpResponse {
    control.plan(route.into_inner(), fault.into_inner());
    HttpResponse::NoContent().finish()
}

async fn clear_all(control: ControlData) -> HttpResponse {
    control.clear_all();
    HttpResponse::NoContent().finish()
}
