//! `GET /openapi.json` and `GET /docs`: the API description for programs and for people.
//!
//! The page is self-contained: its content security policy allows only the embedded style and script, by their hashes,
//! and a request for the document.

use crate::{document, request::Call};
use actix_web::{
    HttpResponse,
    http::header::{self, ContentType},
    web::Bytes,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use companion_http::{ApiError, openapi::NoCache};
use sha2::{Digest as _, Sha256};
use std::sync::LazyLock;

/// Path of the document.
pub(crate) const DOCUMENT_PATH: &str = "/openapi.json";
/// Path of the page.
pub(crate) const PAGE_PATH: &str = "/docs";

const MEDIA_TYPE: &str = "text/html; charset=utf-8";
/// Both change only with the program.
const CACHE_CONTROL: &str = NoCache::VALUE;

const PAGE: &str = include_str!("reference/page.html");
const STYLE: &str = include_str!("reference/page.css");
const SCRIPT: &str = include_str!("reference/page.js");

static RENDERED: LazyLock<Bytes> =
    LazyLock::new(|| PAGE.replace("/*style*/", STYLE).replace("/*script*/", SCRIPT).into());

static POLICY: LazyLock<String> = LazyLock::new(|| {
    format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; connect-src 'self'; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'",
        hash(SCRIPT),
        hash(STYLE)
    )
});

/// Read this document
#[utoipa::path(
    get, path = DOCUMENT_PATH, operation_id = "getDocument", tag = "health",
    responses(
        (
            status = 200,
            description = "An OpenAPI 3.1 document.",
            body = Object,
            headers(("Cache-Control" = inline(NoCache))),
        ),
    )
)]
pub(crate) async fn document(_: Call) -> Result<HttpResponse, ApiError> {
    let document = document::document().map_err(|error| ApiError::Internal(error.into()))?;
    let mut response = HttpResponse::Ok();
    response.content_type(ContentType::json()).insert_header((header::CACHE_CONTROL, CACHE_CONTROL));
    Ok(response.body(document))
}

/// Read this document as an HTML page
#[utoipa::path(
    get, path = PAGE_PATH, operation_id = "getReference", tag = "health",
    responses(
        (
            status = 200,
            description = "A self-contained page.",
            body = String,
            content_type = "text/html; charset=utf-8",
            headers(("Cache-Control" = inline(NoCache))),
        ),
    )
)]
pub(crate) async fn page(_: Call) -> HttpResponse {
    HttpResponse::Ok()
        .content_type(MEDIA_TYPE)
        .insert_header((header::CACHE_CONTROL, CACHE_CONTROL))
        .insert_header((header::CONTENT_SECURITY_POLICY, POLICY.as_str()))
        .insert_header((header::REFERRER_POLICY, "no-referrer"))
        .body(RENDERED.clone())
}

fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}
