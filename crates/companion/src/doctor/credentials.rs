//! Checks whether the platform accepts the application's id and secret.

use super::{
    check::{Check, Installation, Subject},
    json, send,
};
use crate::configuration::{Configuration, SiteUrl};
use reqwest::{Client, StatusCode};
use serde_json::Value;
use url::form_urlencoded::Serializer;

const CREDENTIALS: Subject = Subject::new("credentials", "identity.client_secret");
const KEYS: [&str; 3] = ["identity.client_id", "identity.client_secret", "identity.redirect_uri"];
/// A code that the platform never issued.
const UNISSUED_CODE: &str = "companion-doctor-asks";

/// Tries to exchange a made-up code. The platform rejects the code only after it has accepted the credentials.
pub(super) async fn check(installation: &Installation, is_reached: bool, client: &Client) -> Check {
    if let Err(skipped) = installation.needs(CREDENTIALS, &KEYS) {
        return skipped;
    }
    let Some(form) = form(&installation.configuration) else {
        return CREDENTIALS.warning(
            "sign-in is not configured: every sign-in is refused with 503",
            "set identity.client_id, identity.client_secret and identity.redirect_uri to those of the application",
        );
    };
    if !is_reached {
        return CREDENTIALS.skipped("cannot be told before the provider answers");
    }
    let url = format!(
        "{}/oauth2/token",
        installation.configuration.identity.api_url.as_str().trim_end_matches('/')
    );
    let request = client.post(url).header("content-type", "application/x-www-form-urlencoded").body(form);
    let answer = match send(request).await {
        Ok(answer) => answer,
        Err(why) => {
            return CREDENTIALS.failed(format!("the platform gave no answer: {why}"), "run doctor again");
        }
    };
    let status = answer.status();
    match (json(answer).await.get("error").and_then(Value::as_str), status) {
        (Some("invalid_grant"), _) => CREDENTIALS.ok("the platform accepts them"),
        (Some("invalid_client"), _) | (None, StatusCode::UNAUTHORIZED) => CREDENTIALS.failed(
            "the platform does not know this id with this secret (invalid_client)",
            "copy identity.client_id and identity.client_secret anew from the application's page at the platform",
        ),
        (Some("invalid_request"), _) => CREDENTIALS.warning(
            "the platform accepts the credentials, and refuses the request (invalid_request)",
            "check that identity.redirect_uri is registered with the application, to the letter",
        ),
        // The response body is not repeated, because it may contain what was sent.
        (_, status) => CREDENTIALS.warning(
            format!("the platform answered with {}, which does not tell", status.as_u16()),
            "run doctor again later",
        ),
    }
}

/// Returns the form of the request, or `None` if no application is configured.
fn form(configuration: &Configuration) -> Option<String> {
    let identity = &configuration.identity;
    let dashboard = || configuration.dashboard.url.as_ref().map(SiteUrl::callback);
    let redirect = identity.redirect_uri.as_ref().map(|uri| uri.default.to_string()).or_else(dashboard)?;
    let form = Serializer::new(String::new())
        .append_pair("grant_type", "authorization_code")
        .append_pair("code", UNISSUED_CODE)
        .append_pair("redirect_uri", &redirect)
        .append_pair("client_id", identity.client_id.as_ref()?.as_str())
        .append_pair("client_secret", identity.client_secret.as_ref()?.expose())
        .finish();
    Some(form)
}
