//! The port: which calls make up each of its methods.

use crate::{
    Deadlines, Limits, Route, Settings, SettingsError, Statistics,
    call_limiter::{Call, CallLimiter, Permit, Principal},
    client::{Answer, HttpClient, Request, failed, invalid, unexpected},
    limits::TokenFingerprint,
    settings::ApiBase,
    token_endpoint::TokenEndpoint,
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
    time::{Instant, sleep_until},
};

/// Number of refused codes, before the first good one, that triggers a warning.
const SUSPICIOUS_REFUSALS: u32 = 3;
/// Minimum delay between two pages, because a wait of zero must not cause a burst of calls.
const MIN_PAGE_DELAY: Duration = Duration::from_millis(10);

/// The chat platform as an identity provider, over OAuth 2.0.
pub struct OauthIdentity {
    clock: Arc<dyn Clock>,
    api: String,
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

    /// Creates a provider. It opens no connection. Global pauses requested by the platform are shared with all nodes
    /// through `pauses`.
    ///
    /// # Errors
    /// Returns an error if the address is neither HTTPS nor loopback, or another setting is invalid.
    pub fn new(
        settings: &Settings,
        clock: Arc<dyn Clock>,
        pauses: Arc<dyn PlatformPauses>,
    ) -> Result<Self, SettingsError> {
        let base = ApiBase::check(&settings.api_url)?;
        let client = HttpClient::new(settings, &base)?;
        Ok(Self {
            limiter: CallLimiter::new(settings, client, Arc::clone(&clock), pauses),
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

    /// Returns counters of calls and their outcomes.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.limiter.statistics(self.unreadable_guilds.load(Ordering::Relaxed))
    }

    fn until(&self) -> Instant {
        Instant::now() + self.deadlines.call
    }

    /// Sends a request with an access token, of which only a hash is kept. Returns the permit, which is to be settled,
    /// and the response as parsed by `read`.
    async fn fetch<T>(
        &self,
        (route, principal): (Route, Principal),
        path: &str,
        access: &Secret,
        until: Instant,
        read: impl FnOnce(&[u8]) -> Result<T, IdentityError>,
    ) -> Result<(Permit<'_>, Result<T, IdentityError>), IdentityError> {
        let request = get(&format!("{}{path}", self.api), access)?;
        let token = Some(TokenFingerprint(self.hasher.hash_one(access.expose())));
        let permit = self.limiter.acquire(Call { route, principal, token, code: None }, until).await?;
        let answer = permit.send(request).await;
        let result = answer.and_then(|answer| read(ok_body(&answer)?));
        Ok((permit, result))
    }

    /// Fetches a page for a user, or for one whom a concurrent call is about to identify. Then a refusal waits for that
    /// call, so that it is charged to the user.
    async fn page(
        &self,
        list: &GuildList<'_>,
        principal: Principal,
        after: Option<GuildId>,
    ) -> Result<Page, IdentityError> {
        let after = after.map(|after| format!("&after={after}")).unwrap_or_default();
        let path = format!("/users/@me/guilds?limit={}{after}", wire::PAGE_SIZE);
        let read = |body: &[u8]| Page::read(body, &self.pictures);
        let call = (Route::Guilds, principal);
        let (mut permit, result) = self.fetch(call, &path, list.access, list.until, read).await?;
        if result.is_err() && matches!(principal, Principal::Arriving(_)) {
            permit.release_slot();
            permit.set_user(*list.user.wait().await);
        }
        let page = permit.settle(result)?;
        self.unreadable_guilds.fetch_add(page.unreadable as u64, Ordering::Relaxed);
        Ok(page)
    }

    /// Fetches all pages, the first one for this principal. The user is needed only if there are more.
    async fn all_pages(
        &self,
        list: GuildList<'_>,
        principal: Principal,
    ) -> Result<PlatformGuilds, IdentityError> {
        let (mut all, mut names, mut unreadable) = (BTreeMap::new(), Vec::new(), 0);
        let mut page = self.page(&list, principal, None).await?;
        let mut last = None;
        loop {
            unreadable += page.unreadable;
            for membership in page.memberships {
                all.entry(membership.guild).or_insert(membership);
            }
            names.extend(page.names);
            if all.len() + unreadable > self.limits.guilds {
                return Err(failed("the answer is invalid: too many guilds"));
            }
            let Some(newest) = page.next_after else {
                return Ok(PlatformGuilds { memberships: all.into_values().collect(), names });
            };
            if last.is_some_and(|last| newest <= last) {
                return Err(failed("the answer is invalid: pages that repeat"));
            }
            last = Some(newest);
            page = self.next_page(&list, newest).await?;
        }
    }

    /// Fetches a further page. Waits for a short limit between two pages, because the list is useless without the rest.
    async fn next_page(&self, list: &GuildList<'_>, after: GuildId) -> Result<Page, IdentityError> {
        let principal = Principal::User(*list.user.wait().await);
        loop {
            let result = self.page(list, principal, Some(after)).await;
            let Some(wait) = result.as_ref().err().and_then(|error| error.kind.retry_after()) else {
                return result;
            };
            let next = Instant::now() + wait.max(MIN_PAGE_DELAY);
            if next >= list.until {
                return result;
            }
            sleep_until(next).await;
        }
    }
}

/// A list of guilds that is being fetched.
struct GuildList<'a> {
    /// The user, once known.
    user: &'a SetOnce<UserId>,
    access: &'a Secret,
    /// The deadline of all pages.
    until: Instant,
}

/// Returns the call that exchanges a code of a client with this standing.
const fn code_exchange_call(standing: Reputation) -> Call {
    Call { route: Route::Token, principal: Principal::Ourselves, token: None, code: Some(standing) }
}

fn get(url: &str, access: &Secret) -> Result<Request, IdentityError> {
    let mut bearer = HeaderValue::from_str(&format!("Bearer {}", access.expose())).map_err(invalid)?;
    bearer.set_sensitive(true);
    http::Request::get(url).header(header::AUTHORIZATION, bearer).body(Vec::new()).map_err(invalid)
}

/// Returns the body of a successful response.
fn ok_body(answer: &Answer) -> Result<&[u8], IdentityError> {
    match answer.status() {
        StatusCode::OK => Ok(answer.body()),
        StatusCode::UNAUTHORIZED => {
            let cause = "the platform refused the access token";
            Err(IdentityError::new(IdentityErrorKind::TokenRefused, cause))
        }
        other => Err(unexpected(other)),
    }
}

#[async_trait]
impl IdentityProvider for OauthIdentity {
    fn ready_to_exchange(&self, standing: Reputation) -> Result<(), IdentityError> {
        self.limiter.would_admit(code_exchange_call(standing))
    }

    async fn exchange(&self, exchange: &CodeExchange) -> Result<PlatformTokens, IdentityError> {
        let call = code_exchange_call(exchange.standing);
        let permit = self.limiter.acquire(call, self.until()).await?;
        let result = self.tokens.exchange(exchange, self.clock.now(), &permit).await;
        let result = permit.settle(result);
        self.note_code(&result);
        result
    }

    async fn user(&self, client: ClientMark, access: &Secret) -> Result<User, IdentityError> {
        let read = |body: &[u8]| wire::read::<WireUser>(body)?.into_user(&self.pictures);
        let call = (Route::User, Principal::Client(client));
        let (permit, user) = self.fetch(call, "/users/@me", access, self.until(), read).await?;
        permit.settle(user)
    }

    async fn guilds(&self, user: UserId, access: &Secret) -> Result<PlatformGuilds, IdentityError> {
        let known = SetOnce::new_with(Some(user));
        let list = GuildList { user: &known, access, until: self.until() };
        self.all_pages(list, Principal::User(user)).await
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
        let guilds = async {
            // Both ways share one deadline, because a sign-in has no time for two.
            let list = GuildList { user: &known, access, until: self.until() };
            let principal = match self.limiter.may_ask_early() {
                true => Principal::Arriving(client),
                false => Principal::User(*known.wait().await),
            };
            Ok(self.all_pages(list, principal).await)
        };
        let (user, guilds) = tokio::try_join!(user, guilds)?;
        Ok(UserWithGuilds { user, guilds })
    }

    async fn refresh(&self, user: UserId, refresh: &Secret) -> Result<PlatformTokens, IdentityError> {
        let principal = Principal::User(user);
        let call = Call { route: Route::Token, principal, token: None, code: None };
        let permit = self.limiter.acquire(call, self.until()).await?;
        let result = self.tokens.refresh(refresh, self.clock.now(), &permit).await;
        permit.settle(result)
    }

    async fn revoke(&self, token: &Secret) -> Result<(), IdentityError> {
        let request = self.tokens.revocation(token)?;
        let principal = Principal::Ourselves;
        let call = Call { route: Route::Revoke, principal, token: None, code: None };
        let permit = self.limiter.acquire(call, self.until()).await?;
        let answer = permit.send(request).await;
        permit.settle(answer.and_then(|answer| revoked(&answer)))
    }
}

/// Checks the response to a revocation. An unknown token is a success, too (RFC 7009, 2.2).
fn revoked(answer: &Answer) -> Result<(), IdentityError> {
    match answer.status() {
        status if status.is_success() => Ok(()),
        StatusCode::UNAUTHORIZED => {
            Err(failed("the platform refused the request: our id or secret is wrong"))
        }
        other => Err(unexpected(other)),
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
