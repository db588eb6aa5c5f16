//! Handlers for records that are written, read and removed under their key.

use crate::{
    change::{Changes, answer, change},
    context::ManagementContext,
    request::{EmptyBody, JsonBody, MinBodyLimit, key},
};
use actix_web::{HttpRequest, HttpResponse, web};
use companion_domain::port::Mutation;
use companion_http::{ApiError, audit::Audit, deadline::within_storage, routing};
use companion_records::{Body, KeyPart, KeyedRecord};
use std::sync::Arc;
use utoipa::{
    IntoResponses, ToSchema,
    openapi::{
        Components, ContentBuilder, HttpMethod, OpenApi, Ref, RefOr, Required, ResponseBuilder, Responses,
        ResponsesBuilder, Schema,
        path::{Operation, OperationBuilder, ParameterBuilder, ParameterIn},
        request_body::RequestBodyBuilder,
    },
};

const JSON: &str = "application/json";

/// A record that the bot writes.
pub(crate) trait FedRecord: KeyedRecord + ToSchema + 'static {
    /// Error responses of a read.
    type LookUpFailures: IntoResponses;
    /// Error responses of a change.
    type ChangeFailures: IntoResponses;

    /// Path of a record, with its key as parameters.
    const PATH: &'static str;

    /// Operation id and summary of GET.
    const GET: (&'static str, &'static str);
    /// Operation id and summary of PUT.
    const PUT: (&'static str, &'static str);
    /// Description of PUT.
    const PUT_MORE: &'static str =
        "The body may repeat an id of the path, as a line of a sync does; both must then be equal.";
    /// Operation id and summary of DELETE.
    const REMOVE: (&'static str, &'static str);

    /// Audit actions of PUT and DELETE.
    const ACTIONS: [&'static str; 2];

    /// Size of the largest record, if it can exceed the configured limit of a body.
    const MIN_BODY_LIMIT: usize = 0;

    /// Adds the key to an audit event.
    fn audited(audit: Audit, key: &Self::Key) -> Audit;

    /// Adds what only the record itself contains to an audit event.
    fn audited_put(audit: Audit, _: &Self::Value) -> Audit {
        audit
    }

    /// Returns the error for a key without a record.
    fn missing() -> ApiError {
        ApiError::NotReported
    }
}

/// Returns the resource of these records. HEAD runs the same handler as GET.
pub(crate) fn resource<R: FedRecord>(path: &'static str) -> routing::Resource {
    routing::resource(path, "GET, HEAD, PUT, DELETE, OPTIONS")
        .app_data(MinBodyLimit(R::MIN_BODY_LIMIT))
        .route(web::get().to(show::<R>))
        .route(web::head().to(show::<R>))
        .route(web::put().to(put::<R>))
        .route(web::delete().to(remove::<R>))
}

async fn show<R: FedRecord>(
    context: web::Data<ManagementContext>,
    request: HttpRequest,
    _: EmptyBody,
) -> Result<HttpResponse, ApiError> {
    let key = R::into_key(key::<R>(&request)?);
    let found =
        within_storage(&context.storage_limiter, &request, context.use_cases.feed.records.find(&key)).await?;
    let found = found.and_then(R::from_record).ok_or_else(R::missing)?;
    answer("What is stored.", Body::<R>::of(&found))
}

async fn put<R: FedRecord>(
    context: web::Data<ManagementContext>,
    request: HttpRequest,
    body: JsonBody,
) -> Result<HttpResponse, ApiError> {
    let value = body.record::<R>(&request)?;
    let [action, _] = R::ACTIONS;
    let audit = R::audited(Audit::of(&request, action), &key::<R>(&request)?);
    let audit = R::audited_put(audit, &value);
    let batch = vec![Mutation::Put(R::into_record(value))];
    let feed = Arc::clone(&context.use_cases.feed);
    change(&context.storage_limiter, &request, audit, async move { feed.apply(batch).await }).await
}

async fn remove<R: FedRecord>(
    context: web::Data<ManagementContext>,
    request: HttpRequest,
    _: EmptyBody,
) -> Result<HttpResponse, ApiError> {
    let key = key::<R>(&request)?;
    let [_, action] = R::ACTIONS;
    let audit = R::audited(Audit::of(&request, action), &key);
    let batch = vec![Mutation::Remove(R::into_key(key))];
    let feed = Arc::clone(&context.use_cases.feed);
    change(&context.storage_limiter, &request, audit, async move { feed.apply(batch).await }).await
}

/// Adds the operations on these records, and their schema, to the OpenAPI document.
pub(crate) fn describe<R: FedRecord>(document: &mut OpenApi) {
    for (method, operation) in operations::<R>() {
        document.paths.add_path_operation(R::PATH, vec![method], operation);
    }
    let components = document.components.get_or_insert_with(Components::default);
    components.schemas.insert(R::NAME.to_owned(), R::schema());
}

fn operations<R: FedRecord>() -> [(HttpMethod, Operation); 3] {
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

fn under_key<R: FedRecord>((id, summary): (&str, &str)) -> OperationBuilder {
    let operation = OperationBuilder::new().tag("feed").operation_id(Some(id)).summary(Some(summary));
    let with_part = |operation: OperationBuilder, part: KeyPart| {
        let parameter = ParameterBuilder::new()
            .name(part.parameter)
            .parameter_in(ParameterIn::Path)
            .required(Required::True)
            .description(Some(part.description))
            .schema(Some(part.schema));
        operation.parameter(parameter)
    };
    R::key_parts().into_iter().fold(operation, with_part)
}

fn answers<F: IntoResponses, T: ToSchema>(success: &str) -> Responses {
    let content = ContentBuilder::new().schema(Some(reference::<T>()));
    let success = ResponseBuilder::new().description(success).content(JSON, content.build());
    ResponsesBuilder::new().response("200", success).responses_from_into_responses::<F>().build()
}

fn reference<T: ToSchema>() -> RefOr<Schema> {
    Ref::from_schema_name(T::name()).into()
}
