//! Sign-ins on every listener: limits, metrics and audit.

mod refusals;

use self::refusals::{Attempt, RefusalLimiter};
use crate::{
    audit::{Audit, EXPIRE},
    client::Client,
    deadline,
    error::ApiError,
    metrics::SignInMetrics,
    openapi::failure::SigningIn,
};
use companion_domain::{
    model::{CodeVerifier, IdpCode, WebUrl},
    session::UserAgent,
    usecase::{SignIn, SignInError, SignInRequest, SignedIn},
};
use std::{num::NonZeroU32, sync::Arc, time::Duration};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Instant,
};

/// Maximum number of sign-ins in flight. Each runs to completion even if its caller disconnects, so a slow platform
/// would otherwise let them grow without bound.
const MAX_SIGN_INS: usize = 1000;

/// Signs users in. All listeners share one, so that a client has one limit everywhere.
pub struct SignInAttempts {
    sign_in: Arc<SignIn>,
    refusals: Arc<RefusalLimiter>,
    /// One permit per sign-in in flight.
    slots: Arc<Semaphore>,
    pub(crate) metrics: Arc<SignInMetrics>,
}

/// A code to exchange.
pub struct SentCode {
    /// The platform's code.
    pub code: IdpCode,
    /// The PKCE verifier, if the sign-in was begun with one.
    pub verifier: Option<CodeVerifier>,
    /// The redirect URL of the sign-in.
    pub redirect: WebUrl,
    /// The `User-Agent` of the device.
    pub user_agent: Option<UserAgent>,
}

impl SignInAttempts {
    /// Creates it with a limit of refused codes per client.
    pub(crate) fn new(sign_in: Arc<SignIn>, refused_codes_per_minute: NonZeroU32) -> Arc<Self> {
        Arc::new(Self {
            sign_in,
            refusals: Arc::new(RefusalLimiter::new(refused_codes_per_minute)),
            slots: Arc::new(Semaphore::new(MAX_SIGN_INS)),
            metrics: Arc::new(SignInMetrics::new(&SigningIn::errors())),
        })
    }

    /// Returns [`ApiError::RateLimited`] if the client has used up its refusals.
    pub fn check(&self, client: Option<Client>) -> Result<(), ApiError> {
        self.refusals.check(client)
    }

    /// Parses a code. A malformed one is refused, and counts as a refusal of this client.
    pub fn read_code(&self, client: Option<Client>, text: &str) -> Result<IdpCode, ApiError> {
        text.parse().map_err(|_| {
            self.refusals.count(client);
            ApiError::IdpCodeInvalid
        })
    }

    /// Exchanges the code of a request that began at `begun`, or records why there is none.
    pub async fn sign_in(
        self: &Arc<Self>,
        begun: Instant,
        client: Option<Client>,
        audit: Audit,
        sent: Result<SentCode, ApiError>,
    ) -> Result<SignedIn, ApiError> {
        let admitted = match sent {
            Ok(sent) => self.admit(client, sent).await,
            Err(error) => Err(error),
        };
        let (request, attempt, permit) = admitted.inspect_err(|error| {
            audit.refused(error);
            self.metrics.ended::<()>(Err(error));
        })?;
        let working = Arc::clone(self);
        let work = async move {
            let ended = audited_sign_in(&working.sign_in, &request, audit).await;
            working.metrics.ended(ended.as_ref());
            attempt.ended(&ended);
            drop(permit);
            ended
        };
        deadline::sign_in(begun.elapsed(), work).await
    }

    /// Takes a slot of the client, and one of all sign-ins.
    async fn admit(
        &self,
        client: Option<Client>,
        sent: SentCode,
    ) -> Result<(SignInRequest, Attempt, OwnedSemaphorePermit), ApiError> {
        let SentCode { code, verifier, redirect, user_agent } = sent;
        let attempt = self.refusals.admit(client, code.fingerprint()).await?;
        let permit = Arc::clone(&self.slots).try_acquire_owned();
        let permit = permit.map_err(|_| ApiError::Overloaded(Duration::ZERO))?;
        let Attempt { client, standing, .. } = attempt;
        Ok((SignInRequest { code, verifier, redirect, client, standing, user_agent }, attempt, permit))
    }
}

/// Signs in, and audits the outcome even if the caller has disconnected.
async fn audited_sign_in(
    sign_in: &SignIn,
    sign_in_request: &SignInRequest,
    audit: Audit,
) -> Result<SignedIn, ApiError> {
    match sign_in.sign_in(sign_in_request).await {
        Ok(signed_in) => {
            for (action, displaced) in
                [(EXPIRE, &signed_in.displaced.over), ("end_over_cap", &signed_in.displaced.capped)]
            {
                displaced.iter().for_each(|session| audit.caused(action).ended(session));
            }
            audit.sessions(std::slice::from_ref(&signed_in.session), None);
            Ok(signed_in)
        }
        Err(error) => {
            let audit = if let SignInError::Blocked(user) = error { audit.user(user) } else { audit };
            let error = ApiError::from(error);
            audit.refused(&error);
            Err(error)
        }
    }
}
