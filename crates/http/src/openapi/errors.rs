//! Answers of failure: for each operation what can go wrong, taken from the table of errors.

use super::{
    JSON, header,
    success::{closed_object, envelope},
};
use crate::{
    error::{ApiError, Problem},
    headers::name,
    routing::READING,
};
use serde_json::json;
use std::{collections::BTreeMap, time::Duration};
use utoipa::openapi::{
    ContentBuilder, ObjectBuilder, Ref, RefOr, Response, ResponseBuilder, Schema, Type,
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
        ApiError::Overloaded(Duration::ZERO),
    ]
}

/// What can go wrong with a sign-in.
pub(super) fn of_sign_in() -> Vec<ApiError> {
    let mut errors = everywhere();
    errors.extend([
        ApiError::HeaderInvalid { header: name::IDP_CODE, expected: "sent once, in printable ASCII" },
        ApiError::IdpCodeMissing,
        ApiError::IdpCodeInvalid,
        ApiError::OriginRefused,
        ApiError::Blocked,
        ApiError::RateLimited(Duration::ZERO),
    ]);
    errors.extend(of_the_provider());
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
    ]);
    errors.extend(of_the_provider());
    errors
}

fn of_the_provider() -> [ApiError; 3] {
    [
        ApiError::ProviderFailed("".into()),
        ApiError::ProviderLimited(Duration::ZERO, "".into()),
        ApiError::ProviderTimeout("".into()),
    ]
}

/// Adds the answers for these errors, one for each code.
pub(super) fn with(operation: OperationBuilder, errors: &[ApiError]) -> OperationBuilder {
    by_code(errors).into_iter().fold(operation, |operation, (code, problems)| {
        operation.response(code.to_string(), failure(code, &problems))
    })
}

/// The shapes of all these answers, by name.
pub(super) fn schemas() -> BTreeMap<String, RefOr<Schema>> {
    let elsewhere = vec![ApiError::NotFound, ApiError::MethodNotAllowed(READING)];
    let answers =
        [everywhere(), of_sign_in(), of_guilds(), elsewhere].into_iter().flat_map(|errors| by_code(&errors));
    answers.map(|(code, problems)| (name(&words(&problems)), schema(code, words(&problems)))).collect()
}

/// The answers of paths and methods that no operation describes, by name.
pub(super) fn elsewhere() -> [(&'static str, Response); 2] {
    let of = |error: ApiError| {
        let problem = error.problem();
        failure(problem.status.as_u16(), &[problem])
    };
    let refused = header::with(of(ApiError::MethodNotAllowed(READING)), "Allow");
    [("NotFound", of(ApiError::NotFound).build()), ("MethodNotAllowed", refused.build())]
}

fn by_code(errors: &[ApiError]) -> BTreeMap<u16, Vec<Problem>> {
    let mut by_code = BTreeMap::<_, Vec<_>>::new();
    for problem in errors.iter().map(ApiError::problem) {
        by_code.entry(problem.status.as_u16()).or_default().push(problem);
    }
    by_code
}

fn words(problems: &[Problem]) -> Vec<&'static str> {
    let mut words: Vec<_> = problems.iter().map(|problem| problem.word).collect();
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

fn schema(code: u16, words: Vec<&'static str>) -> RefOr<Schema> {
    let error = ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some("What went wrong, in a word for programs."))
        .enum_values(Some(words));
    let data = closed_object()
        .property("error", error)
        .required("error")
        .property("request_id", header::text(header::REQUEST_ID))
        .required("request_id");
    Schema::Object(envelope(code, Schema::Object(data.build()).into())).into()
}

fn failure(code: u16, problems: &[Problem]) -> ResponseBuilder {
    let words = words(problems);
    let examples = problems.iter().map(|problem| {
        let data = json!({"error": problem.word, "request_id": SOME_ID});
        let value = json!({"code": code, "message": problem.message, "data": data});
        (problem.word, ExampleBuilder::new().value(Some(value)).build())
    });
    let schema = RefOr::<Schema>::from(Ref::from_schema_name(name(&words)));
    let content = ContentBuilder::new().schema(Some(schema)).examples_from_iter(examples).build();
    let response =
        ResponseBuilder::new().description(format!("`{}`", words.join("`, `"))).content(JSON, content);
    let response = header::usual(response, "no-store");
    if problems.iter().any(|problem| problem.retry_after.is_some()) {
        header::with(response, "Retry-After")
    } else {
        response
    }
}
