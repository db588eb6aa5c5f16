//! The port: which calls make up each of its methods.

use crate::{
    Deadlines, Limits, Route, Settings, SettingsError, Statistics,
    call_limiter::{Call, CallLimiter, Permit},
    client::{Answer, HttpClient, Request},
    failure::{CallError, Principal},
    limits::TokenFingerprint,
    settings::ApiBase,
    token_endpoint::{PermittedCall, TokenEndpoint},
    wire::{self, Page, WireUser},
};
use async_trait::async_trait;
use companion_domain::{
    model::{GuildId, PictureServer, PlatformGuilds, PlatformTokens, Secret, User, UserId},
    port::{
        ClientMark, Clock, CodeExchange, IdentityError, IdentityErrorKind, IdentityProvider, PlatformPauses,
        Reputation, UserWithGuilds,
    },
};
use http::{HeaderValue, StatusCode, header};
use std::{
    collections::BTreeMap,
    fmt,
    hash::{BuildHasher, RandomState},
    sync::{
        Arc,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{
    sync::SetOnce,
    time::{Instant, sleep},
};

/// Number of refused codes, before the first good one, that triggers a warning.
const SUSPICIOUS_REFUSALS: u32 = 3;
/// Minimum delay between two pages, because a wait of zero must not cause a burst of calls.
const MIN_PAGE_DELAY: Duration = Duration::from_millis(10);

/// The chat platform as an identity provider, over OAuth 2.0.
pub struct OauthIdentity {
    clock: Arc<dyn Clock>,
    api: String,
    client: HttpClient,
    limiter: CallLimiter,
    tokens: TokenEndpoint,
    pictures: PictureServer,
    deadlines: Deadlines,
    limits: Limits,
    hasher: RandomState,
    unreadable_guilds: AtomicU64,
    /// Number of codes refused before the first good one, up to [`SUSPICIOUS_REFUSALS`].
    refused_codes: AtomicU32,
}

impl OauthIdentity {
    /// Warns once if the platform refuses all of the first codes. It reports a wrong redirect URI with the same error
    /// as a made-up code.
    fn note_code(&self, exchanged: &Result<PlatformTokens, IdentityError>) {
        match exchanged {
            Ok(_) => self.refused_codes.store(SUSPICIOUS_REFUSALS, Ordering::Relaxed),
            Err(error) if error.kind == IdentityErrorKind::BadGrant => {
                let one_more = |refused: u32| (refused < SUSPICIOUS_REFUSALS).then_some(refused + 1);
                let before = self.refused_codes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more);
                if before == Ok(SUSPICIOUS_REFUSALS - 1) {
                    tracing::warn!(
                        "identity.redirect_uri: the platform refused each of the first {SUSPICIOUS_REFUSALS} codes. Unless they were \
                         made up, the redirect URI differs from the one that the sign-in page sends to the platform"
                    );
                }
            }
            Err(_) => {}
        }
    }

    /// Creates a provider. It opens no connection.
    ///
    /// # Errors
    /// Returns an error if the address is neither HTTPS nor loopback, or another setting is invalid.
    pub fn new(settings: &Settings, clock: Arc<dyn Clock>) -> Result<Self, SettingsError> {
        let base = ApiBase::check(&settings.api_url)?;
        Ok(Self {
            client: HttpClient::new(settings, &base)?,
            limiter: CallLimiter::new(settings, Arc::clone(&clock)),
            tokens: TokenEndpoint::new(settings, &base)?,
            clock,
            api: base.url,
            pictures: settings.pictures.clone(),
            deadlines: settings.deadlines,
            limits: settings.limits,
            hasher: RandomState::new(),
            unreadable_guilds: AtomicU64::new(0),
            refused_codes: AtomicU32::new(0),
        })
    }

    /// Shares global pauses requested by the platform with all nodes.
    #[must_use]
    pub fn sharing(self, pauses: Arc<dyn PlatformPauses>) -> Self {
        Self { limiter: self.limiter.sharing(pauses), ..self }
    }

    /// Returns counters of calls and their outcomes.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.limiter.statistics(self.unreadable_guilds.load(Ordering::Relaxed))
    }

    fn until(&self) -> Instant {
        Instant::now() + self.deadlines.call
    }

    fn permitted_call<'a>(&'a self, permit: &'a Permit<'a>, until: Instant) -> PermittedCall<'a> {
        let client = &self.client;
        PermittedCall { permit, client, until }
    }

    /// Returns a call with an access token, of which only a hash is kept.
    fn with_token(&self, route: Route, principal: Principal, access: &Secret) -> Call {
        let token = Some(TokenFingerprint(self.hasher.hash_one(access.expose())));
        Call { route, principal, token, code: None }
    }

    /// Sends a request with an access token, and parses the response with `read`.
    async fn fetch<T>(
        &self,
        call: (Route, Principal),
        path: &str,
        access: &Secret,
        until: Instant,
        read: impl FnOnce(&[u8]) -> Result<T, CallError>,
    ) -> Result<T, IdentityError> {
        let request = get(&format!("{}{path}", self.api), access)?;
        let (route, principal) = call;
        let permit = self.limiter.acquire(self.with_token(route, principal, access)).await?;
        let answer = permit.send(&self.client, request, until).await;
        let result = answer.and_then(|answer| Ok(read(ok_body(&answer)?)?));
        permit.settle(result)
    }

    async fn page(
        &self,
        user: UserId,
        access: &Secret,
        after: Option<GuildId>,
        until: Instant,
    ) -> Result<Page, IdentityError> {
        let call = (Route::Guilds, Principal::User(user));
        let page = self.fetch(call, &page_path(after), access, until, Page::read).await?;
        Ok(self.counted(page))
    }

    /// Fetches the first page for a user whom a concurrent call is about to identify. A refusal waits for that call, so
    /// that it is charged to the user.
    async fn early_page(
        &self,
        client: ClientMark,
        user: &SetOnce<UserId>,
        access: &Secret,
        until: Instant,
    ) -> Result<Page, IdentityError> {
        let request = get(&format!("{}{}", self.api, page_path(None)), access)?;
        let call = self.with_token(Route::Guilds, Principal::Arriving(client), access);
        let mut permit = self.limiter.acquire(call).await?;
        let answer = permit.send(&self.client, request, until).await;
        let result = answer.and_then(|answer| Ok(Page::read(ok_body(&answer)?)?));
        if result.is_err() {
            permit.release_slot();
            permit.set_user(*user.wait().await);
        }
        Ok(self.counted(permit.settle(result)?))
    }

    fn counted(&self, page: Page) -> Page {
        self.unreadable_guilds.fetch_add(page.unreadable as u64, Ordering::Relaxed);
        page
    }

    /// Fetches the list of a user whom a concurrent call is about to identify.
    async fn arriving_guilds(
        &self,
        client: ClientMark,
        user: &SetOnce<UserId>,
        access: &Secret,
    ) -> Result<PlatformGuilds, IdentityError> {
        // Both ways share one deadline, because a sign-in has no time for two.
        let until = self.until();
        let first = if self.limiter.may_ask_early() {
            self.early_page(client, user, access, until).await?
        } else {
            self.page(*user.wait().await, access, None, until).await?
        };
        self.all_pages(first, user, access, until).await
    }

    /// Fetches all pages after the first. The user is needed only if there are more.
    async fn all_pages(
        &self,
        first: Page,
        user: &SetOnce<UserId>,
        access: &Secret,
        until: Instant,
    ) -> Result<PlatformGuilds, IdentityError> {
        let (mut all, mut names, mut unreadable) = (BTreeMap::new(), Vec::new(), 0);
        let (mut page, mut last) = (first, None);
        loop {
            unreadable += page.unreadable;
            for membership in page.memberships {
                all.entry(membership.guild).or_insert(membership);
            }
            names.extend(page.names.into_iter().map(|name| name.into_named(&self.pictures)));
            if all.len() + unreadable > self.limits.guilds {
                return Err(CallError::Invalid("too many guilds").into());
            }
            let Some(newest) = page.next_after else {
                return Ok(PlatformGuilds { memberships: all.into_values().collect(), names });
            };
            if last.is_some_and(|last| newest <= last) {
                return Err(CallError::Invalid("pages that repeat").into());
            }
            last = Some(newest);
            page = self.next_page(*user.wait().await, access, newest, until).await?;
        }
    }

    /// Fetches a further page. Waits for a short limit between two pages, because the list is useless without the rest.
    async fn next_page(
        &self,
        user: UserId,
        access: &Secret,
        after: GuildId,
        until: Instant,
    ) -> Result<Page, IdentityError> {
        loop {
            let error = match self.page(user, access, Some(after), until).await {
                Ok(page) => return Ok(page),
                Err(error) => error,
            };
            let IdentityErrorKind::Limited(wait) = error.kind else {
                return Err(error);
            };
            let next = Instant::now() + wait.max(MIN_PAGE_DELAY);
            if next >= until {
                return Err(error);
            }
            sleep(next - Instant::now()).await;
        }
    }
}

/// Returns the call that exchanges a code of a client with this standing.
const fn code_exchange_call(standing: Reputation) -> Call {
    Call { route: Route::Token, principal: Principal::Ourselves, token: None, code: Some(standing) }
}

fn page_path(after: Option<GuildId>) -> String {
    let after = after.map(|after| format!("&after={after}")).unwrap_or_default();
    format!("/users/@me/guilds?limit={}{after}", wire::PAGE_SIZE)
}

fn get(url: &str, access: &Secret) -> Result<Request, CallError> {
    let bearer = HeaderValue::from_str(&format!("Bearer {}", access.expose()));
    let mut bearer = bearer.map_err(|_| CallError::InvalidRequest)?;
    bearer.set_sensitive(true);
    let request = http::Request::get(url).header(header::AUTHORIZATION, bearer);
    request.body(Vec::new()).map_err(|_| CallError::InvalidRequest)
}

/// Returns the body of a successful response.
fn ok_body(answer: &Answer) -> Result<&[u8], CallError> {
    match answer.status() {
        StatusCode::OK => Ok(answer.body()),
        StatusCode::UNAUTHORIZED => Err(CallError::TokenRefused),
        other => Err(CallError::Status(other.as_u16())),
    }
}

#[async_trait]
impl IdentityProvider for OauthIdentity {
    fn ready_to_exchange(&self, standing: Reputation) -> Result<(), IdentityError> {
        self.limiter.would_admit(code_exchange_call(standing))
    }

    async fn exchange(&self, exchange: &CodeExchange) -> Result<PlatformTokens, IdentityError> {
        let until = self.until();
        let permit = self.limiter.acquire(code_exchange_call(exchange.standing)).await?;
        let now = self.clock.now();
        let call = self.permitted_call(&permit, until);
        let result = self.tokens.exchange(exchange, now, &call).await;
        let result = permit.settle(result);
        self.note_code(&result);
        result
    }

    async fn user(&self, client: ClientMark, access: &Secret) -> Result<User, IdentityError> {
        let read = |body: &[u8]| wire::read::<WireUser>(body)?.into_user(&self.pictures);
        self.fetch((Route::User, Principal::Client(client)), "/users/@me", access, self.until(), read).await
    }

    async fn guilds(&self, user: UserId, access: &Secret) -> Result<PlatformGuilds, IdentityError> {
        let until = self.until();
        let first = self.page(user, access, None, until).await?;
        self.all_pages(first, &SetOnce::new_with(Some(user)), access, until).await
    }

    async fn user_with_guilds(
        &self,
        client: ClientMark,
        access: &Secret,
    ) -> Result<UserWithGuilds, IdentityError> {
        let known = SetOnce::new();
        let user = async {
            let user = self.user(client, access).await?;
            let _ = known.set(user.id);
            Ok::<_, IdentityError>(user)
        };
        let guilds = async { Ok(self.arriving_guilds(client, &known, access).await) };
        let (user, guilds) = tokio::try_join!(user, guilds)?;
        Ok(UserWithGuilds { user, guilds })
    }

    async fn refresh(&self, user: UserId, refresh: &Secret) -> Result<PlatformTokens, IdentityError> {
        let until = self.until();
        let principal = Principal::User(user);
        let call = Call { route: Route::Token, principal, token: None, code: None };
        let permit = self.limiter.acquire(call).await?;
        let now = self.clock.now();
        let result = self.tokens.refresh(refresh, now, &self.permitted_call(&permit, until)).await;
        permit.settle(result)
    }

    async fn revoke(&self, token: &Secret) -> Result<(), IdentityError> {
        let until = self.until();
        let request = self.tokens.revocation(token)?;
        let principal = Principal::Ourselves;
        let call = Call { route: Route::Revoke, principal, token: None, code: None };
        let permit = self.limiter.acquire(call).await?;
        let answer = permit.send(&self.client, request, until).await;
        permit.settle(answer.and_then(|answer| revoked(&answer)))
    }
}

/// Checks the response to a revocation. An unknown token is a success, too (RFC 7009, 2.2).
fn revoked(answer: &Answer) -> Result<(), IdentityError> {
    match answer.status() {
        status if status.is_success() => Ok(()),
        StatusCode::UNAUTHORIZED => Err(CallError::Refused("our id or secret is wrong").into()),
        other => Err(CallError::Status(other.as_u16()).into()),
    }
}

impl fmt::Debug for OauthIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OauthIdentity")
            .field("api", &self.api)
            .field("statistics", &self.statistics())
            .finish_non_exhaustive()
    }
}
