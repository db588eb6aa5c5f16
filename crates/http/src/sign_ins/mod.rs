//! Sign-ins, on whichever listener they are asked for: how many there may be, and how each is counted and recorded.

mod refusals;

use self::refusals::{Attempt, Refusals};
use crate::{
    audit::{Audit, EXPIRE},
    client::Client,
    deadline,
    error::ApiError,
    metrics::{MetricsSource, MetricsText, SignInMetrics},
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

/// How many sign-ins may be under way at once. Each goes on to its end, also when its caller is gone, so a platform that is
/// slow to answer would otherwise let them grow without end.
const SIGN_INS_AT_ONCE: usize = 1000;

/// Signs users in. All listeners share one, so that a client has the same limit everywhere.
pub struct SignInAttempts {
    sign_in: Arc<SignIn>,
    refusals: Arc<Refusals>,
    /// One permit for each sign-in in flight.
    slots: Arc<Semaphore>,
    metrics: SignInMetrics,
}

/// A code to be exchanged.
pub struct SentCode {
    /// The platform's code.
    pub code: IdpCode,
    /// The PKCE verifier, where the sign-in was begun with one.
    pub verifier: Option<CodeVerifier>,
    /// Where the platform sent the user back to.
    pub redirect: WebUrl,
    /// What the device calls itself.
    pub user_agent: Option<UserAgent>,
}

impl SignInAttempts {
    /// Attempts of clients that may each send so many refused codes in a minute.
    pub(crate) fn new(sign_in: Arc<SignIn>, refused_codes_per_minute: NonZeroU32) -> Arc<Self> {
        Arc::new(Self {
            sign_in,
            refusals: Arc::new(Refusals::new(refused_codes_per_minute)),
            slots: Arc::new(Semaphore::new(SIGN_INS_AT_ONCE)),
            metrics: SignInMetrics::new(&SigningIn::errors()),
        })
    }

    /// Turns away a client that has used up its refusals.
    pub fn check(&self, client: Option<Client>) -> Result<(), ApiError> {
        self.refusals.check(client)
    }

    /// Reads a code that a client sent. A malformed one is refused, and counts.
    pub fn read_code(&self, client: Option<Client>, text: &str) -> Result<IdpCode, ApiError> {
        text.parse().map_err(|_| {
            self.refusals.count(client);
            ApiError::IdpCodeInvalid
        })
    }

    /// Exchanges what a request that came in at `begun` brought, or records why it brought nothing.
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
        let (request, attempt, permit) = match admitted {
            Ok(admitted) => admitted,
            Err(error) => {
                audit.refused(&error);
                let refused = Err(error);
                self.metrics.ended(&refused);
                return refused;
            }
        };
        let working = Arc::clone(self);
        let work = async move {
            let ended = audited_sign_in(&working.sign_in, &request, audit).await;
            working.metrics.ended(&ended);
            attempt.ended(&ended);
            drop(permit);
            ended
        };
        deadline::sign_in(begun.elapsed(), work).await
    }

    /// Takes a slot among the attempts of the client and among all.
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

impl MetricsSource for SignInAttempts {
    fn write(&self, text: &mut MetricsText) {
        self.metrics.write(text);
    }
}

/// Signs in, and tells the audit trail how it ended, also when the caller no longer waits for it.
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
