//! Error pages: what happened, and a link to continue.

use crate::{
    page::{self, Answer, Frame, Here, Navigation, Theme},
    site::Site,
};
use actix_web::{HttpMessage as _, HttpRequest, HttpResponse, http::StatusCode};
use askama::Template;
use companion_domain::rules::in_words;
use companion_http::{ApiError, ErrorPages, error::Problem};
use std::sync::Arc;

/// Renders the errors of handlers as pages.
pub(crate) struct FailurePages(pub(crate) Arc<Site>);

#[derive(Template)]
#[template(path = "failure.html")]
struct FailurePage<'a> {
    frame: Frame<'a>,
    words: &'a str,
    /// Links to continue, and their labels. The first is the best.
    ways_on: &'a [(&'a str, &'a str)],
    /// The request id, if the error is in the log.
    request_id: Option<&'a str>,
}

/// Renders an error page of this title and words, with links to continue.
pub(crate) fn error_page(
    site: &Site,
    status: StatusCode,
    visitor: Navigation,
    (title, words): (&str, &str),
    ways_on: &[(&str, &str)],
    request_id: Option<&str>,
) -> Answer {
    let frame = Frame { site, title, here: Here::Elsewhere, visitor };
    page::answer(status, &FailurePage { frame, words, ways_on, request_id })
}

/// Title and words of the page for a session that has ended.
pub(crate) const SIGNED_OUT: (&str, &str) =
    ("You are signed out", "Your session has ended, here or on another device. Sign in again to go on.");
const HOME: (&str, &str) = ("/", "Go to the home page");
const SIGN_IN: (&str, &str) = ("/sign-in", "Sign in again");

/// A guild of the user that the bot has left, noted for the error page of a request.
pub(crate) struct LeftGuild {
    /// The name, if the platform's last list has it.
    pub(crate) name: Option<String>,
    /// The invite link, if the user may use it.
    pub(crate) invite: Option<String>,
}

impl ErrorPages for FailurePages {
    fn page(
        &self,
        error: &ApiError,
        problem: &Problem,
        request_id: &str,
        request: Option<&HttpRequest>,
    ) -> HttpResponse {
        let noted = |request: &HttpRequest| {
            let mut extensions = request.extensions_mut();
            (extensions.remove::<Navigation>(), extensions.remove::<LeftGuild>())
        };
        let (visitor, left) = request.map(noted).unwrap_or_default();
        let visitor = visitor.unwrap_or_else(|| Navigation::guest(Theme::System, "/sign-in".to_owned()));
        let request_id = problem.status.is_server_error().then_some(request_id);
        let page = |words: (&str, &str), ways_on: &[(&str, &str)]| {
            error_page(&self.0, problem.status, visitor, words, ways_on, request_id)
        };
        let shown = match (error, left) {
            (ApiError::NotFound, Some(left)) => {
                let bot = &self.0.settings.name;
                let title = format!("{bot} is no longer in {}", left.name.as_deref().unwrap_or("this guild"));
                let label = format!("Invite {bot} again");
                let mut ways_on = vec![("/guilds", "Your guilds")];
                ways_on.extend(left.invite.as_deref().map(|url| (url, label.as_str())));
                page((&title, "Its settings are kept. They apply again when it is back."), &ways_on)
            }
            _ => {
                let (title, words, way_on) = self.words(error);
                let wait = problem.retry_after.map_or_else(|| "a moment".to_owned(), in_words);
                page((title, &words.replace("{wait}", &wait)), &[way_on])
            }
        };
        let mut response =
            shown.unwrap_or_else(|_| HttpResponse::build(problem.status).body(error.to_string()));
        self.0.protection.add(response.headers_mut());
        response
    }
}

impl FailurePages {
    /// Returns title and words for an error, and a link to continue. In the words, `{wait}` stands for the time after which
    /// it is worth trying again.
    fn words(&self, error: &ApiError) -> (&str, &str, (&str, &str)) {
        let support = self.0.settings.support_url.as_ref().map(|url| (url.as_str(), "Ask for help"));
        match error {
            ApiError::NotFound | ApiError::NotReported | ApiError::GuildUnknown => {
                ("Page not found", "There is nothing at this address.", HOME)
            }
            ApiError::MethodNotAllowed(_) => {
                ("This does not work here", "A page cannot be used like that.", HOME)
            }
            ApiError::OriginRefused => (
                "Nothing was changed",
                "What you sent did not come from a page of this site, or that page was too old. Open the page again \
                 and try once more.",
                HOME,
            ),
            ApiError::HeaderInvalid { .. }
            | ApiError::PreconditionRequired
            | ApiError::InputInvalid(_)
            | ApiError::BodyBroken
            | ApiError::BodyTimeout
            | ApiError::BodyTooLarge => (
                "Nothing was changed",
                "What your browser sent could not be read. Open the page again and try once more.",
                HOME,
            ),
            ApiError::IdpCodeMissing | ApiError::IdpCodeInvalid => (
                "This sign-in is over",
                "A sign-in works once and only for a short while, and this one was used before or took too long. \
                 Nothing is wrong with your account.",
                SIGN_IN,
            ),
            ApiError::IdpScopeMissing => (
                "Something is missing",
                "To show your guilds, we have to be allowed to see who you are and which guilds you are in. Sign in \
                 again and allow both.",
                SIGN_IN,
            ),
            ApiError::TokenMissing | ApiError::TokenInvalid | ApiError::SignedOut => {
                (SIGNED_OUT.0, SIGNED_OUT.1, SIGN_IN)
            }
            ApiError::SignInStale => (
                "Please sign in again",
                "To change something, we have to know what you may do right now, and your sign-in is too old for that. \
                 Nothing was changed.",
                SIGN_IN,
            ),
            ApiError::SettingsChanged(_) => (
                "Nothing was changed",
                "These settings were changed meanwhile. Open the page again to see what they are now.",
                HOME,
            ),
            ApiError::PermissionMissing(_) => {
                ("Nothing was changed", "You may not edit these settings, or not any more.", HOME)
            }
            ApiError::Blocked => (
                "You cannot use this site",
                "Your account was blocked on this service. Signing in again does not change that.",
                support.unwrap_or(HOME),
            ),
            ApiError::RateLimited(_) => (
                "Too many attempts",
                "Too many sign-ins failed from where you are. Try again in {wait}.",
                HOME,
            ),
            ApiError::Internal(_) => (
                "Something went wrong here",
                "This is our mistake, not yours. Nothing you did can have caused it.",
                HOME,
            ),
            ApiError::SignInNotConfigured => {
                ("Sign-in is not configured", "This site cannot sign users in yet.", HOME)
            }
            ApiError::ProviderFailed(_) | ApiError::ProviderTimeout(_) => (
                "The chat platform does not answer",
                "We could not reach the platform that knows who you are. Try again in {wait}.",
                SIGN_IN,
            ),
            ApiError::ProviderLimited(..) => (
                "The chat platform is busy",
                "The platform takes no more questions from us for now. Try again in {wait}.",
                HOME,
            ),
            ApiError::StorageUnavailable(_) | ApiError::Overloaded(_) | ApiError::NotReady(_) => (
                "We cannot answer just now",
                "Your data is safe, but it cannot be reached at this moment. Try again in {wait}.",
                HOME,
            ),
            ApiError::KeyMissing
            | ApiError::KeyInvalid
            | ApiError::KeyScopeMissing { .. }
            | ApiError::KeptElsewhere(_) => ("This is not for you", "A key is needed here.", HOME),
        }
    }
}
