//! Handlers for records that are written, read and removed under their key.

use crate::{
    keyed_records::audited,
    request::{Call, Changes, Document, MinBodyLimit, answer},
};
use actix_web::{HttpResponse, http::Method};
use companion_domain::port::{Mutation, Record};
use companion_http::{ApiError, routing};
use companion_records::{Body, KeyPart, KeyedRecord};
use utoipa::{
    IntoResponses, ToSchema,
    openapi::{
        Components, ContentBuilder, HttpMethod, OpenApi, Ref, RefOr, Required, ResponseBuilder, Responses,
        ResponsesBuilder, Schema,
        path::{self, OperationBuilder, Parameter, ParameterBuilder, ParameterIn},
        request_body::RequestBodyBuilder,
    },
};

const JSON: &str = "application/json";

/// The name of an operation, in audit events and, in camel case, as its id; and its summary.
pub(crate) type Operation = (&'static str, &'static str);

/// A record that the bot writes.
pub(crate) trait FedRecord: KeyedRecord + ToSchema + 'static {
    /// Error responses of a read.
    type LookUpFailures: IntoResponses;
    /// Error responses of a change.
    type ChangeFailures: IntoResponses;

    /// Path of a record, with its key as parameters.
    const PATH: &'static str;

    /// GET, which is not audited.
    const GET: Operation;
    /// PUT.
    const PUT: Operation;
    /// Description of PUT.
    const PUT_MORE: &'static str =
        "The body may repeat an id of the path, as a line of a sync does; both must then be equal.";
    /// DELETE.
    const REMOVE: Operation;

    /// Size of the largest record, if it can exceed the configured limit of a body.
    const MIN_BODY_LIMIT: usize = 0;

    /// Returns the error for a key without a record.
    fn missing() -> ApiError {
        ApiError::NotReported
    }
}

/// Returns the resource of these records.
pub(crate) fn resource<R: FedRecord>(path: &'static str) -> routing::Resource {
    routing::resource(path)
        .app_data(MinBodyLimit(R::MIN_BODY_LIMIT))
        .on(Method::GET, show::<R>)
        .on(Method::PUT, put::<R>)
        .on(Method::DELETE, remove::<R>)
}

async fn show<R: FedRecord>(call: Call) -> Result<HttpResponse, ApiError> {
    let key = R::into_key(call.key::<R>()?);
    let found = call.read(call.context.use_cases.feed.records.find(&key)).await?;
    let found = found.and_then(R::from_record).ok_or_else(R::missing)?;
    answer("What is stored.", Body::<R>::of(&found))
}

async fn put<R: FedRecord>(call: Call<Document>) -> Result<HttpResponse, ApiError> {
    let record = R::into_record(call.record::<R>()?);
    let audit = audited(call.audit(R::PUT.0), &record.key());
    let audit = match &record {
        Record::Feedback(feedback) => audit.user(feedback.submitter.id),
        _ => audit,
    };
    call.feed(audit, Mutation::Put(record)).await
}

async fn remove<R: FedRecord>(call: Call) -> Result<HttpResponse, ApiError> {
    let key = R::into_key(call.key::<R>()?);
    call.feed(audited(call.audit(R::REMOVE.0), &key), Mutation::Remove(key)).await
}

/// Adds the operations on these records, and their schema, to the OpenAPI document.
pub(crate) fn describe<R: FedRecord>(document: &mut OpenApi) {
    for (method, operation) in operations::<R>() {
        document.paths.add_path_operation(R::PATH, vec![method], operation);
    }
    let components = document.components.get_or_insert_with(Components::default);
    components.schemas.insert(R::NAME.to_owned(), R::schema());
}

fn operations<R: FedRecord>() -> [(HttpMethod, path::Operation); 3] {
    let put_back =
        R::HAS_FIELDS.then_some("In the fields of a PUT, so that the response can be written back.");
    let get = under_key::<R>(R::GET)
        .description(put_back)
        .responses(answers::<R::LookUpFailures, R>("The stored record."));
    let put = under_key::<R>(R::PUT)
        .description(Some(R::PUT_MORE))
        .responses(answers::<R::ChangeFailures, Changes>("The record is stored."));
    let put = if R::HAS_FIELDS {
        let content = ContentBuilder::new().schema(Some(reference::<R>())).example(Some(R::example()));
        let body = RequestBodyBuilder::new().required(Some(Required::True)).content(JSON, content.build());
        put.request_body(Some(body.build()))
    } else {
        put
    };
    let remove = under_key::<R>(R::REMOVE)
        .responses(answers::<R::ChangeFailures, Changes>("The record is removed, or did not exist."));
    [(HttpMethod::Get, get.build()), (HttpMethod::Put, put.build()), (HttpMethod::Delete, remove.build())]
}

fn under_key<R: FedRecord>((name, summary): Operation) -> OperationBuilder {
    let mut id = String::new();
    for (place, word) in name.split('_').enumerate() {
        let (initial, rest) = word.split_at(place.min(1));
        id = id + &initial.to_ascii_uppercase() + rest;
    }
    let operation = OperationBuilder::new().tag("feed").operation_id(Some(id)).summary(Some(summary));
    operation.parameters(Some(R::key_parts().into_iter().map(parameter)))
}

/// Describes a part of a key as a parameter of a path.
pub(crate) fn parameter(part: KeyPart) -> Parameter {
    ParameterBuilder::new()
        .name(part.parameter)
        .parameter_in(ParameterIn::Path)
        .required(Required::True)
        .description(Some(part.description))
        .schema(Some(part.schema))
        .build()
}

fn answers<F: IntoResponses, T: ToSchema>(success: &str) -> Responses {
    let content = ContentBuilder::new().schema(Some(reference::<T>()));
    let success = ResponseBuilder::new().description(success).content(JSON, content.build());
    ResponsesBuilder::new().response("200", success).responses_from_into_responses::<F>().build()
}

fn reference<T: ToSchema>() -> RefOr<Schema> {
    Ref::from_schema_name(T::name()).into()
}
