//! Exchanges codes and refresh tokens for tokens, and revokes them.

use crate::{
    call_limiter::Permit,
    client::{Answer, Request, failed, invalid, of_json},
    settings::{ApiBase, Settings, SettingsError},
};
use companion_domain::{
    model::{PlatformTokens, Secret, Timestamp},
    port::{CodeExchange, IdentityError, IdentityErrorKind, has_needed_scopes},
};
use http::{HeaderValue, header};
use oauth2::{
    AsyncHttpClient, AuthType, AuthorizationCode, ClientId, ClientSecret, EndpointNotSet, EndpointSet,
    PkceCodeVerifier, RedirectUrl, RefreshToken, RequestTokenError, TokenResponse, TokenUrl,
    basic::{BasicClient, BasicErrorResponse, BasicErrorResponseType, BasicTokenResponse, BasicTokenType},
};
use std::{borrow::Cow, pin::Pin, time::Duration};
use url::form_urlencoded;

type Oauth = BasicClient<EndpointNotSet, EndpointNotSet, EndpointNotSet, EndpointNotSet, EndpointSet>;

/// Lifetime of an access token if the response does not state it.
const USUAL_LIFETIME: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The HTTP client for `oauth2`: it sends one request with a permit.
impl<'c> AsyncHttpClient<'c> for Permit<'_> {
    type Error = IdentityError;
    type Future = Pin<Box<dyn Future<Output = Result<Answer, IdentityError>> + Send + 'c>>;

    fn call(&'c self, request: Request) -> Self::Future {
        Box::pin(self.send(request))
    }
}

pub(crate) struct TokenEndpoint {
    oauth: Oauth,
    client_secret: Secret,
    revocation: String,
}

impl TokenEndpoint {
    pub(crate) fn new(settings: &Settings, base: &ApiBase) -> Result<Self, SettingsError> {
        let url = TokenUrl::new(format!("{}/oauth2/token", base.url)).map_err(|_| SettingsError::NotABase)?;
        let secret = settings.client_secret.clone();
        let oauth = BasicClient::new(ClientId::new(settings.client_id.clone()))
            .set_client_secret(ClientSecret::new(secret.expose().to_owned()))
            // In a form every character is unambiguous. In the header, servers disagree on how to encode special
            // characters.
            .set_auth_type(AuthType::RequestBody)
            .set_token_uri(url);
        Ok(Self { oauth, client_secret: secret, revocation: format!("{}/oauth2/token/revoke", base.url) })
    }

    /// Exchanges a code, in one call.
    pub(crate) async fn exchange(
        &self,
        exchange: &CodeExchange,
        now: Timestamp,
        permit: &Permit<'_>,
    ) -> Result<PlatformTokens, IdentityError> {
        let CodeExchange { code, verifier, redirect, .. } = exchange;
        let redirect = RedirectUrl::new(redirect.as_str().to_owned()).map_err(invalid)?;
        let mut request = self.oauth.exchange_code(AuthorizationCode::new(code.expose().to_owned()));
        request = request.set_redirect_uri(Cow::Owned(redirect));
        if let Some(verifier) = verifier {
            request = request.set_pkce_verifier(PkceCodeVerifier::new(verifier.expose().to_owned()));
        }
        let answer = request.request_async(permit).await.map_err(explain)?;
        // A response without scopes means that all requested ones were granted (RFC 6749, 5.1).
        if answer
            .scopes()
            .is_some_and(|granted| !has_needed_scopes(granted.iter().map(|scope| scope.as_str())))
        {
            let cause = "the user did not grant the required scopes";
            return Err(IdentityError::new(IdentityErrorKind::ScopeMissing, cause));
        }
        read(&answer, now)
    }

    /// Exchanges a refresh token, in one call.
    pub(crate) async fn refresh(
        &self,
        refresh: &Secret,
        now: Timestamp,
        permit: &Permit<'_>,
    ) -> Result<PlatformTokens, IdentityError> {
        let token = RefreshToken::new(refresh.expose().to_owned());
        let answer = self.oauth.exchange_refresh_token(&token).request_async(permit).await;
        read(&answer.map_err(explain)?, now)
    }

    /// Returns a request that revokes an authorisation. It is built here because `oauth2` rejects plain HTTP, which
    /// loopback uses.
    pub(crate) fn revocation(&self, token: &Secret) -> Result<Request, IdentityError> {
        let form = form_urlencoded::Serializer::new(String::new())
            .append_pair("token", token.expose())
            .append_pair("client_id", self.oauth.client_id())
            .append_pair("client_secret", self.client_secret.expose())
            .finish();
        let form_encoded = HeaderValue::from_static("application/x-www-form-urlencoded");
        let request = http::Request::post(&self.revocation).header(header::CONTENT_TYPE, form_encoded);
        request.body(form.into_bytes()).map_err(invalid)
    }
}

pub(crate) fn read(answer: &BasicTokenResponse, now: Timestamp) -> Result<PlatformTokens, IdentityError> {
    if *answer.token_type() != BasicTokenType::Bearer {
        return Err(failed("the answer is invalid: an unknown token type"));
    }
    let access = usable(answer.access_token().secret())?;
    let refresh = answer.refresh_token().map(|token| usable(token.secret())).transpose()?;
    Ok(PlatformTokens {
        access,
        refresh,
        expires_at: now.after(answer.expires_in().unwrap_or(USUAL_LIFETIME)),
    })
}

/// Returns an error unless the token can be sent in a header.
fn usable(token: &str) -> Result<Secret, IdentityError> {
    if !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic()) {
        Ok(Secret::new(token.to_owned()))
    } else {
        Err(failed("the answer is invalid: a token that cannot be sent"))
    }
}

/// Converts an error without quoting the response: its descriptions may repeat what was sent.
fn explain(error: RequestTokenError<IdentityError, BasicErrorResponse>) -> IdentityError {
    let refused = match error {
        RequestTokenError::Request(error) => return error,
        RequestTokenError::Parse(error, _) => return of_json(error.inner()),
        RequestTokenError::Other(_) => return failed("the answer is invalid: an empty or non-JSON body"),
        RequestTokenError::ServerResponse(answer) => match answer.error() {
            BasicErrorResponseType::InvalidGrant => {
                let cause = "the platform refused the code or the refresh token";
                return IdentityError::new(IdentityErrorKind::BadGrant, cause);
            }
            BasicErrorResponseType::InvalidClient => "our id or secret is wrong",
            BasicErrorResponseType::InvalidRequest => "invalid_request",
            BasicErrorResponseType::InvalidScope => "invalid_scope",
            BasicErrorResponseType::UnauthorizedClient => "unauthorized_client",
            BasicErrorResponseType::UnsupportedGrantType => "unsupported_grant_type",
            BasicErrorResponseType::Extension(_) => "an unknown error",
        },
    };
    failed(format!("the platform refused the request: {refused}"))
}
