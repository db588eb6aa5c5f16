//! Answers of failure: for each operation what can go wrong, taken from the table of errors.

use super::{
    JSON, header,
    success::{closed_object, envelope},
};
use crate::{
    envelope::FieldProblem,
    error::{ApiError, Problem},
    headers::name,
    routing::READING,
};
use companion_domain::model::Mistake;
use companion_records::MOST_MISTAKES;
use serde_json::json;
use std::{collections::BTreeMap, time::Duration};
use utoipa::ToSchema as _;
use utoipa::openapi::{
    ArrayBuilder, ContentBuilder, ObjectBuilder, Ref, RefOr, Response, ResponseBuilder, Schema, Type,
    example::ExampleBuilder, path::OperationBuilder,
};

/// The request id of the examples.
const SOME_ID: &str = "1f0c6a52c1c84f0f8f3a0de1a6b4c2d7";

/// What can go wrong with every request.
pub(super) fn everywhere() -> Vec<ApiError> {
    vec![
        ApiError::BodyBroken,
        ApiError::BodyTooLarge,
        ApiError::Internal("".into()),
        ApiError::StorageUnavailable("".into()),
    ]
}

/// What can go wrong where neither a store nor anyone else is asked.
pub(super) fn of_reading() -> Vec<ApiError> {
    vec![ApiError::BodyBroken, ApiError::BodyTooLarge, ApiError::Internal("".into())]
}

/// What can go wrong with a look at the readiness.
pub(super) fn of_readiness() -> Vec<ApiError> {
    with_more(of_reading(), [ApiError::NotReady("storage: cannot serve now".to_owned())])
}

/// What can go wrong with the metrics.
pub(super) fn of_metrics() -> Vec<ApiError> {
    with_more(of_reading(), of_the_key())
}

/// What can go wrong with input of the management API.
pub(super) fn of_input() -> Vec<ApiError> {
    with_more(with_more(everywhere(), of_the_key()), [ApiError::InputInvalid(vec![example_mistake()])])
}

/// What can go wrong with a member of a guild.
pub(super) fn of_member() -> Vec<ApiError> {
    with_more(of_input(), [ApiError::GuildUnknown])
}

/// What can go wrong with a look-up.
pub(super) fn of_look_up() -> Vec<ApiError> {
    with_more(of_input(), [ApiError::NotReported])
}

/// What can go wrong with a sync, which may be of any length.
pub(super) fn of_sync() -> Vec<ApiError> {
    let mut errors = of_input();
    errors.retain(|error| !matches!(error, ApiError::BodyTooLarge));
    with_more(errors, [ApiError::BodyTimeout])
}

/// What can go wrong with a sign-out.
pub(super) fn of_sign_out() -> Vec<ApiError> {
    let more = [
        ApiError::HeaderInvalid { header: name::TOKEN, expected: "sent once, in printable ASCII" },
        ApiError::TokenMissing,
        ApiError::TokenInvalid,
    ];
    with_more(with_more(everywhere(), of_the_key()), more)
}

fn of_the_key() -> [ApiError; 3] {
    [ApiError::KeyMissing, ApiError::KeyInvalid, ApiError::RateLimited(Duration::ZERO)]
}

fn example_mistake() -> Mistake {
    Mistake { path: "roles.MOD[2]".to_owned(), message: "must be text".to_owned() }
}

fn with_more(mut errors: Vec<ApiError>, more: impl IntoIterator<Item = ApiError>) -> Vec<ApiError> {
    errors.extend(more);
    errors
}

/// What can go wrong with a sign-in.
pub(crate) fn of_sign_in() -> Vec<ApiError> {
    let mut errors = everywhere();
    errors.extend([
        ApiError::HeaderInvalid { header: name::IDP_CODE, expected: "sent once, in printable ASCII" },
        ApiError::IdpCodeMissing,
        ApiError::IdpCodeInvalid,
        ApiError::IdpScopeMissing,
        ApiError::OriginRefused,
        ApiError::Blocked,
        ApiError::RateLimited(Duration::ZERO),
        ApiError::Overloaded(Duration::ZERO),
        ApiError::SignInNotConfigured,
        ApiError::ProviderFailed("".into()),
        ApiError::ProviderLimited(Duration::ZERO, "".into()),
        ApiError::ProviderTimeout("".into()),
    ]);
    errors
}

/// What can go wrong with a list of guilds.
pub(super) fn of_guilds() -> Vec<ApiError> {
    let mut errors = everywhere();
    errors.extend([
        ApiError::HeaderInvalid { header: name::TOKEN, expected: "sent once, in printable ASCII" },
        ApiError::TokenMissing,
        ApiError::TokenInvalid,
        ApiError::Blocked,
        ApiError::ProviderLimited(Duration::ZERO, "".into()),
    ]);
    errors
}

/// Adds the answers for these errors, one for each code.
pub(super) fn with(operation: OperationBuilder, errors: &[ApiError]) -> OperationBuilder {
    by_code(errors).into_iter().fold(operation, |operation, (code, errors)| {
        operation.response(code.to_string(), failure(code, &errors))
    })
}

/// The shapes of all these answers, by name.
pub(super) fn schemas() -> BTreeMap<String, RefOr<Schema>> {
    let elsewhere = vec![ApiError::NotFound, ApiError::MethodNotAllowed(READING)];
    let all = [
        everywhere(),
        of_sign_in(),
        of_guilds(),
        of_reading(),
        of_readiness(),
        of_metrics(),
        of_input(),
        of_member(),
        of_look_up(),
        of_sync(),
        of_sign_out(),
        elsewhere,
    ];
    let shape = |(code, errors): (u16, Vec<&ApiError>)| (name(&words(&errors)), schema(code, &errors));
    all.iter().flat_map(|errors| by_code(errors).into_iter().map(shape)).collect()
}

/// The answers of paths and methods that no operation describes, by name.
pub(super) fn elsewhere() -> [(&'static str, Response); 2] {
    let of = |error: ApiError| failure(error.problem().status.as_u16(), &[&error]);
    let refused = header::with(of(ApiError::MethodNotAllowed(READING)), "Allow");
    [("NotFound", of(ApiError::NotFound).build()), ("MethodNotAllowed", refused.build())]
}

fn by_code(errors: &[ApiError]) -> BTreeMap<u16, Vec<&ApiError>> {
    let mut by_code = BTreeMap::<_, Vec<_>>::new();
    for error in errors {
        by_code.entry(error.problem().status.as_u16()).or_default().push(error);
    }
    by_code
}

fn words(errors: &[&ApiError]) -> Vec<&'static str> {
    let mut words: Vec<_> = errors.iter().map(|error| error.problem().word).collect();
    words.sort_unstable();
    words.dedup();
    words
}

/// `storage_unavailable` and `overloaded` become `OverloadedOrStorageUnavailable`.
fn name(words: &[&str]) -> String {
    let capital = |part: &str| {
        part.get(..1).unwrap_or_default().to_ascii_uppercase() + part.get(1..).unwrap_or_default()
    };
    words.iter().map(|word| word.split('_').map(capital).collect()).collect::<Vec<String>>().join("Or")
}

fn schema(code: u16, errors: &[&ApiError]) -> RefOr<Schema> {
    let error = ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some("What went wrong, in a word for programs."))
        .enum_values(Some(words(errors)));
    let data = closed_object()
        .property("error", error)
        .required("error")
        .property("request_id", header::text(header::REQUEST_ID))
        .required("request_id");
    let data = if errors.iter().any(|error| error.mistakes().is_some()) {
        let problem = Ref::from_schema_name(FieldProblem::name());
        let fields = ArrayBuilder::new().items(problem).min_items(Some(1)).max_items(Some(MOST_MISTAKES));
        let fields = fields.description(Some("The mistakes, each by its place."));
        data.property("fields", fields).required("fields")
    } else {
        data
    };
    Schema::Object(envelope(code, Schema::Object(data.build()).into())).into()
}

fn failure(code: u16, errors: &[&ApiError]) -> ResponseBuilder {
    let words = words(errors);
    let examples = errors.iter().map(|error| {
        let Problem { word, message, .. } = error.problem();
        let mut data = json!({"error": word, "request_id": SOME_ID});
        if let (Some(mistakes), Some(data)) = (error.mistakes(), data.as_object_mut()) {
            let fields: Vec<_> = mistakes.iter().map(FieldProblem::from).collect();
            data.insert("fields".to_owned(), json!(fields));
        }
        let value = json!({"code": code, "message": message, "data": data});
        (word, ExampleBuilder::new().value(Some(value)).build())
    });
    let schema = RefOr::<Schema>::from(Ref::from_schema_name(name(&words)));
    let content = ContentBuilder::new().schema(Some(schema)).examples_from_iter(examples).build();
    let response =
        ResponseBuilder::new().description(format!("`{}`", words.join("`, `"))).content(JSON, content);
    let mut response = header::usual(response, "no-store");
    if errors.iter().any(|error| error.problem().retry_after.is_some()) {
        response = header::with(response, "Retry-After");
    }
    if errors.iter().all(|error| matches!(error, ApiError::KeyMissing | ApiError::KeyInvalid)) {
        response = header::with(response, "WWW-Authenticate");
    }
    response
}
