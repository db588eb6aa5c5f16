//! How the service is, and what it is.

use super::{WATCH, finish, finish_locked, operation};
use crate::{
    management::{metrics, reference},
    openapi::{
        JSON, errors, header,
        success::{closed_object, success},
    },
};
use utoipa::openapi::{
    ContentBuilder, ObjectBuilder, Response, ResponseBuilder, Schema, Type, path::Operation,
};

pub(super) fn live() -> Operation {
    let answer = success("The process answers.", Schema::Object(closed_object().build()), "no-store");
    let operation = operation(WATCH, "isAlive", "Whether the process runs").response("200", answer);
    finish(operation, &errors::of_reading())
}

pub(super) fn ready() -> Operation {
    let answer = success("Traffic is welcome.", Schema::Object(closed_object().build()), "no-store");
    let operation = operation(WATCH, "isReady", "Whether traffic is welcome")
        .description(Some(
            "Both listeners accept, storage answers and is migrated, the public answers are loaded, and the service is \
             not about to stop.",
        ))
        .response("200", answer);
    finish(operation, &errors::of_readiness())
}

pub(super) fn metrics() -> Operation {
    let answer = page("Metrics in the text format of Prometheus.", metrics::MEDIA_TYPE, "no-store");
    let operation = operation(WATCH, "getMetrics", "Numbers for those who watch").response("200", answer);
    finish_locked(operation, &errors::of_metrics())
}

pub(super) fn document() -> Operation {
    let shape = ObjectBuilder::new().schema_type(Type::Object);
    let content = ContentBuilder::new().schema(Some(shape)).build();
    let answer = ResponseBuilder::new().description("An OpenAPI 3.1 document.").content(JSON, content);
    let operation = operation(WATCH, "getDocument", "This document")
        .response("200", header::usual(answer, reference::CACHE_CONTROL));
    finish(operation, &errors::of_reading())
}

pub(super) fn reference_page() -> Operation {
    let answer =
        page("A page that needs nothing from elsewhere.", reference::MEDIA_TYPE, reference::CACHE_CONTROL);
    let operation =
        operation(WATCH, "getReference", "This document as a page for people").response("200", answer);
    finish(operation, &errors::of_reading())
}

fn page(description: &str, media_type: &str, cache_control: &str) -> Response {
    let text = ObjectBuilder::new().schema_type(Type::String);
    let content = ContentBuilder::new().schema(Some(text)).build();
    let answer = ResponseBuilder::new().description(description).content(media_type, content);
    header::usual(answer, cache_control).build()
}
