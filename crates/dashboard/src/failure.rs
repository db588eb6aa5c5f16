//! Error pages: what happened, and a link to continue.

use crate::{
    page::{self, Frame, Here, Navigation, Protection, Theme},
    site::Site,
};
use actix_web::{HttpMessage as _, HttpRequest, HttpResponse, http::StatusCode};
use askama::Template;
use companion_domain::rules::in_words;
use companion_http::{ApiError, ErrorPages, error::Problem};

/// Renders the errors of handlers as pages.
pub(crate) struct FailurePages {
    pub(crate) site: Site,
    pub(crate) protection: Protection,
}

/// Content of an error page.
pub(crate) struct ErrorContent {
    pub(crate) title: String,
    pub(crate) words: String,
    /// Links to continue, and their labels. The first is the best.
    pub(crate) ways_on: Vec<(String, String)>,
    /// The request id, if the error is in the log.
    pub(crate) request_id: Option<String>,
}

#[derive(Template)]
#[template(path = "failure.html")]
struct FailurePage<'a> {
    frame: Frame<'a>,
    trouble: ErrorContent,
}

/// Renders an error page.
pub(crate) fn error_page(
    site: &Site,
    status: StatusCode,
    visitor: Navigation,
    trouble: ErrorContent,
) -> Result<HttpResponse, ApiError> {
    let title = trouble.title.clone();
    let frame = Frame { site, title: &title, here: Here::Elsewhere, visitor };
    page::answer(status, &FailurePage { frame, trouble })
}

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
        let shown = match (error, left) {
            (ApiError::NotFound, Some(left)) => self.left_guild(left),
            _ => self.content_of(error, problem, request_id),
        };
        let visitor = visitor
            .unwrap_or_else(|| Navigation::Guest { sign_in: "/sign-in".to_owned(), theme: Theme::System });
        let mut response = error_page(&self.site, problem.status, visitor, shown)
            .unwrap_or_else(|_| HttpResponse::build(problem.status).body(problem.message.to_string()));
        self.protection.add(response.headers_mut());
        response
    }
}

impl FailurePages {
    fn left_guild(&self, left: LeftGuild) -> ErrorContent {
        let bot = &self.site.name;
        let mut ways_on = vec![("/guilds".to_owned(), "Your guilds".to_owned())];
        ways_on.extend(left.invite.map(|url| (url, format!("Invite {bot} again"))));
        ErrorContent {
            title: format!("{bot} is no longer in {}", left.name.as_deref().unwrap_or("this guild")),
            words: "Its settings are kept. They apply again when it is back.".to_owned(),
            ways_on,
            request_id: None,
        }
    }

    fn content_of(&self, error: &ApiError, problem: &Problem, request_id: &str) -> ErrorContent {
        let home = || Some(("/".to_owned(), "Go to the home page"));
        let sign_in = || Some(("/sign-in".to_owned(), "Sign in again"));
        let again = || match problem.retry_after {
            Some(wait) => format!(" Try again in {}.", in_words(wait)),
            None => " Try again in a moment.".to_owned(),
        };
        let support = || self.site.support_url.clone().map(|url| (url, "Ask for help"));
        let (title, words, way_on) = match error {
            ApiError::NotFound | ApiError::NotReported | ApiError::GuildUnknown => {
                ("Page not found", "There is nothing at this address.".to_owned(), home())
            }
            ApiError::MethodNotAllowed(_) => {
                ("This does not work here", "A page cannot be used like that.".to_owned(), home())
            }
            ApiError::OriginRefused => (
                "Nothing was changed",
                "What you sent did not come from a page of this site, or that page was too old. Open the page again \
                 and try once more."
                    .to_owned(),
                home(),
            ),
            ApiError::HeaderInvalid { .. }
            | ApiError::PreconditionRequired
            | ApiError::InputInvalid(_)
            | ApiError::BodyBroken
            | ApiError::BodyTimeout
            | ApiError::BodyTooLarge => (
                "Nothing was changed",
                "What your browser sent could not be read. Open the page again and try once more.".to_owned(),
                home(),
            ),
            ApiError::IdpCodeMissing | ApiError::IdpCodeInvalid => (
                "This sign-in is over",
                "A sign-in works once and only for a short while, and this one was used before or took too long. \
                 Nothing is wrong with your account."
                    .to_owned(),
                sign_in(),
            ),
            ApiError::IdpScopeMissing => (
                "Something is missing",
                "To show your guilds, we have to be allowed to see who you are and which guilds you are in. Sign in \
                 again and allow both."
                    .to_owned(),
                sign_in(),
            ),
            ApiError::TokenMissing | ApiError::TokenInvalid | ApiError::SignedOut => (
                "You are signed out",
                "Your session has ended, here or on another device. Sign in again to go on.".to_owned(),
                sign_in(),
            ),
            ApiError::SignInStale => (
                "Please sign in again",
                "To change something, we have to know what you may do right now, and your sign-in is too old for that. \
                 Nothing was changed."
                    .to_owned(),
                sign_in(),
            ),
            ApiError::SettingsChanged(_) => (
                "Nothing was changed",
                "Someone else changed these settings meanwhile. Open the page again to see what they are now."
                    .to_owned(),
                home(),
            ),
            ApiError::PermissionMissing(_) => (
                "Nothing was changed",
                "You may not edit these settings, or not any more.".to_owned(),
                home(),
            ),
            ApiError::Blocked => (
                "You cannot use this site",
                "Your account was blocked by those who run this service. Signing in again does not change that."
                    .to_owned(),
                support().or_else(home),
            ),
            ApiError::RateLimited(_) => {
                ("Too many attempts", format!("Too many sign-ins failed from where you are.{}", again()), home())
            }
            ApiError::Internal(_) => (
                "Something went wrong here",
                "This is our mistake, not yours. Nothing you did can have caused it.".to_owned(),
                home(),
            ),
            ApiError::SignInNotConfigured => (
                "Nobody can sign in yet",
                "Those who run this site have not set up signing in.".to_owned(),
                home(),
            ),
            ApiError::ProviderFailed(_) | ApiError::ProviderTimeout(_) => (
                "The chat platform does not answer",
                format!("We could not reach the platform that knows who you are.{}", again()),
                sign_in(),
            ),
            ApiError::ProviderLimited(..) => (
                "The chat platform is busy",
                format!("The platform takes no more questions from us for now.{}", again()),
                home(),
            ),
            ApiError::StorageUnavailable(_) | ApiError::Overloaded(_) | ApiError::NotReady(_) => (
                "We cannot answer just now",
                format!("Your data is safe, but it cannot be reached at this moment.{}", again()),
                home(),
            ),
            ApiError::KeyMissing
            | ApiError::KeyInvalid
            | ApiError::KeyScopeMissing { .. }
            | ApiError::KeptElsewhere(_) => {
                ("This is not for you", "A key is needed here.".to_owned(), home())
            }
        };
        let request_id = problem.status.is_server_error().then(|| request_id.to_owned());
        let ways_on = way_on.map(|(place, name)| (place, name.to_owned())).into_iter().collect();
        ErrorContent { title: title.to_owned(), words, ways_on, request_id }
    }
}
