//! `GET /openapi.json` and `GET /docs`: what can be asked, for programs and for people.
//!
//! The page is one piece: its style and its script are part of it and named by their hashes, so a browser runs nothing
//! else and loads nothing but the document.

use super::request::NoBody;
use crate::{error::ApiError, openapi::openapi};
use actix_web::{
    HttpResponse,
    http::header::{self, ContentType},
    web::Bytes,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use sha2::{Digest as _, Sha256};
use std::sync::LazyLock;

/// The type of the page.
pub(crate) const MEDIA_TYPE: &str = "text/html; charset=utf-8";
/// Both change only with the program.
pub(crate) const CACHE_CONTROL: &str = "no-cache";

const PAGE: &str = include_str!("reference/page.html");
const STYLE: &str = include_str!("reference/page.css");
const SCRIPT: &str = include_str!("reference/page.js");

static DOCUMENT: LazyLock<Result<Bytes, String>> =
    LazyLock::new(|| openapi().to_json().map(Bytes::from).map_err(|error| error.to_string()));

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

/// The document.
pub(super) async fn document(_: NoBody) -> Result<HttpResponse, ApiError> {
    let document = DOCUMENT.as_ref().map_err(|error| ApiError::Internal(error.as_str().into()))?;
    let mut response = HttpResponse::Ok();
    response.content_type(ContentType::json()).insert_header((header::CACHE_CONTROL, CACHE_CONTROL));
    Ok(response.body(document.clone()))
}

/// The page.
pub(super) async fn page(_: NoBody) -> HttpResponse {
    HttpResponse::Ok()
        .content_type(MEDIA_TYPE)
        .insert_header((header::CACHE_CONTROL, CACHE_CONTROL))
        .insert_header((header::CONTENT_SECURITY_POLICY, POLICY.as_str()))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .insert_header((header::REFERRER_POLICY, "no-referrer"))
        .body(RENDERED.clone())
}

fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}
