//! Error responses, derived from the table of errors. Each is described once, as a component of the document;
//! operations refer to it by name.

use super::{JSON, closed_object, header};
use crate::{
    envelope::{self, FieldProblem},
    error::ApiError,
    headers::name,
};
use companion_domain::model::FieldError;
use serde_json::Value;
use std::{collections::BTreeMap, time::Duration};
use utoipa::{
    IntoResponses, ToSchema as _,
    openapi::{
        ArrayBuilder, ContentBuilder, ObjectBuilder, Ref, RefOr, Response, ResponseBuilder, Responses,
        Schema, Type, example::ExampleBuilder,
    },
};

/// Request id of the examples.
const SOME_ID: &str = "1f0c6a52c1c84f0f8f3a0de1a6b4c2d7";

/// Defines the responses: each has a name and the errors of one status code, with samples of their values.
macro_rules! answers {
    ($($name:ident: $($error:ident $(($($value:expr),+))? $({ $($field:ident: $part:expr),+ })?),+;)+) => {
        #[derive(Debug, Clone, Copy)]
        enum Answer {
            $($name,)+
        }

        impl Answer {
            const ALL: &[Self] = &[$(Self::$name),+];

            fn name(self) -> String {
                format!("{self:?}")
            }

            fn errors(self) -> Vec<ApiError> {
                match self {
                    $(Self::$name => {
                        vec![$(ApiError::$error $(($($value),+))? $({ $($field: $part),+ })?),+]
                    })+
                }
            }
        }
    };
}

answers! {
    BodyInvalid: BodyBroken;
    RequestInvalid: BodyBroken, HeaderInvalid { header: name::TOKEN, expected: "sent once, in printable ASCII" };
    CodeRefused: IdpCodeMissing, IdpCodeInvalid, IdpScopeMissing;
    TokenRefused: TokenMissing, TokenInvalid;
    KeyRefused: KeyMissing, KeyInvalid;
    KeyOrTokenRefused: KeyMissing, KeyInvalid, TokenMissing, TokenInvalid;
    KeyScopeMissing: KeyScopeMissing { key: "monitoring".to_owned(), scope: "people" };
    SignInRefused: OriginRefused, Blocked;
    Blocked: Blocked;
    NotFound: NotFound;
    NotReported: NotReported;
    GuildUnknown: GuildUnknown;
    KeptElsewhere: KeptElsewhere("team");
    SettingsChanged: SettingsChanged(8);
    MethodNotAllowed: MethodNotAllowed("GET, HEAD, OPTIONS".to_owned());
    BodyTimeout: BodyTimeout;
    BodyTooLarge: BodyTooLarge;
    InputInvalid: InputInvalid(vec![FieldError::new("roles.MOD[2]", "must be text")]);
    RateLimited: RateLimited(Duration::ZERO);
    Internal: Internal("".into());
    ProviderFailed: ProviderFailed("".into());
    StorageUnavailable: StorageUnavailable("".into()), Overloaded(Duration::ZERO);
    Overloaded: Overloaded(Duration::ZERO);
    ListUnavailable: StorageUnavailable("".into()), Overloaded(Duration::ZERO), ProviderLimited(Duration::ZERO, "".into());
    SignInUnavailable: StorageUnavailable("".into()), Overloaded(Duration::ZERO), SignInNotConfigured,
        ProviderLimited(Duration::ZERO, "".into());
    NotReady: NotReady("storage: cannot serve now".to_owned());
    ProviderTimeout: ProviderTimeout("".into());
}

/// Defines the sets of responses that operations share. Each operation names one. Those of every operation are added to
/// it.
macro_rules! failures {
    ($($(#[doc = $about:literal])+ $sort:ident: $($answer:ident),+;)+) => {
        $(
            $(#[doc = $about])+
            #[derive(Debug)]
            pub enum $sort {}

            impl $sort {
                /// Returns the errors.
                #[must_use]
                pub fn errors() -> Vec<ApiError> {
                    EVERYWHERE.into_iter().chain([$(Answer::$answer),+]).flat_map(Answer::errors).collect()
                }
            }

            impl IntoResponses for $sort {
                fn responses() -> BTreeMap<String, RefOr<Response>> {
                    references(&[$(Answer::$answer),+])
                }
            }
        )+
    };
}

failures! {
    /// Reads of the store without a credential.
    Reading: StorageUnavailable;
    /// Sign-in.
    SigningIn: RequestInvalid, CodeRefused, SignInRefused, RateLimited, ProviderFailed, SignInUnavailable, ProviderTimeout;
    /// Listing guilds.
    Listing: RequestInvalid, TokenRefused, Blocked, ListUnavailable;
    /// Readiness probe.
    Readiness: NotReady;
    /// Streams without an end.
    Watching: InputInvalid, Overloaded;
    /// Operations of the management API with input.
    Input: InputInvalid, StorageUnavailable;
    /// Writes of the feed.
    Feeding: KeptElsewhere, InputInvalid, StorageUnavailable;
    /// Reads of a record that must have been reported.
    LookUp: NotReported, InputInvalid, StorageUnavailable;
    /// Reads of the schema, which must have been published.
    Published: NotReported, StorageUnavailable;
    /// Reads of members of a guild that must have been reported.
    Member: GuildUnknown, InputInvalid, StorageUnavailable;
    /// Writes of members of a guild that must have been reported.
    FeedingMember: GuildUnknown, KeptElsewhere, InputInvalid, StorageUnavailable;
    /// Changes of a guild's settings.
    ChangingSettings: RequestInvalid, GuildUnknown, SettingsChanged, InputInvalid, StorageUnavailable;
    /// Sign-out with key and token.
    SigningOut: RequestInvalid, KeyOrTokenRefused, StorageUnavailable;
}

/// Responses of every operation.
const EVERYWHERE: [Answer; 4] =
    [Answer::BodyInvalid, Answer::BodyTimeout, Answer::BodyTooLarge, Answer::Internal];

/// Adds the responses of every operation, unless others of their code are there.
pub(super) fn add_common(responses: &mut Responses) {
    add(responses, &EVERYWHERE);
}

/// Adds the responses of every operation that needs a management key.
pub fn add_of_keys(responses: &mut Responses) {
    add(responses, &[Answer::KeyRefused, Answer::KeyScopeMissing, Answer::RateLimited]);
}

fn add(responses: &mut Responses, answers: &[Answer]) {
    for (code, response) in references(answers) {
        responses.responses.entry(code).or_insert(response);
    }
}

/// Returns the responses as components, by name.
pub(super) fn components() -> impl Iterator<Item = (String, Response)> {
    Answer::ALL.iter().map(|answer| (answer.name(), described(&answer.errors())))
}

fn references(answers: &[Answer]) -> BTreeMap<String, RefOr<Response>> {
    let reference = |answer: &Answer| {
        let code = code(&answer.errors()).to_string();
        (code, Ref::from_response_name(answer.name()).into())
    };
    answers.iter().map(reference).collect()
}

fn code(errors: &[ApiError]) -> u16 {
    errors.first().map_or(0, |error| error.problem().status.as_u16())
}

fn described(errors: &[ApiError]) -> Response {
    let code = code(errors);
    let words: Vec<_> = errors.iter().map(|error| error.problem().word).collect();
    let examples = errors.iter().map(|error| {
        let problem = error.problem();
        let body = envelope::failure(error, &problem, SOME_ID);
        let value = serde_json::from_slice::<Value>(&body).ok();
        (problem.word, ExampleBuilder::new().value(value).build())
    });
    let schema = super::envelope(code, data(errors, &words));
    let content = ContentBuilder::new().schema(Some(schema)).examples_from_iter(examples).build();
    let mut response =
        ResponseBuilder::new().description(format!("`{}`", words.join("`, `"))).content(JSON, content);
    if errors.iter().any(|error| error.problem().retry_after.is_some()) {
        response = header::with(response, "Retry-After");
    }
    if errors.iter().all(|error| matches!(error, ApiError::KeyMissing | ApiError::KeyInvalid)) {
        response = header::with(response, "WWW-Authenticate");
    }
    if errors.iter().any(|error| matches!(error, ApiError::MethodNotAllowed(_))) {
        response = header::with(response, "Allow");
    }
    let mut response = response.build();
    header::complete(&mut response);
    response
}

fn data(errors: &[ApiError], words: &[&'static str]) -> RefOr<Schema> {
    let error = ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some("The error word, for programs."))
        .enum_values(Some(words.to_vec()));
    let data = closed_object()
        .property("error", error)
        .required("error")
        .property("request_id", header::text(header::REQUEST_ID))
        .required("request_id");
    let with_fields = errors.iter().any(|error| error.errors().is_some());
    let data = if with_fields {
        let problem = Ref::from_schema_name(FieldProblem::name());
        let fields =
            ArrayBuilder::new().items(problem).min_items(Some(1)).max_items(Some(FieldError::MAX_REPORTED));
        let fields = fields.description(Some("The invalid fields."));
        data.property("fields", fields).required("fields")
    } else {
        data
    };
    data.into()
}
