//! Avatars, default avatars and icons.

use super::answer::answer;
use crate::{Route, picture, state::ServerState};
use actix_web::{HttpRequest, HttpResponse, http::header, web};

/// The platform has six default avatars.
const DEFAULTS: u64 = 6;

pub(super) async fn own(
    request: HttpRequest,
    shared: web::Data<ServerState>,
    path: web::Path<(u64, String)>,
) -> HttpResponse {
    let (owner, file) = path.into_inner();
    answer(Route::Picture, &request, &shared, || {
        match file.rsplit_once('.') {
            Some((hash, "png")) => picture("image/png", picture::png(&format!("{owner}/{hash}"))),
            // Only what can move comes in the moving kind.
            Some((hash, "gif")) if hash.starts_with("a_") => {
                picture("image/gif", picture::gif(&format!("{owner}/{hash}")))
            }
            _ => HttpResponse::NotFound().finish(),
        }
    })
    .await
}

pub(super) async fn default_avatar(
    request: HttpRequest,
    shared: web::Data<ServerState>,
    file: web::Path<String>,
) -> HttpResponse {
    answer(Route::Picture, &request, &shared, || {
        let number = file.strip_suffix(".png").and_then(|number| number.parse::<u64>().ok());
        match number {
            Some(number) if number < DEFAULTS => {
                picture("image/png", picture::png(&format!("default {number}")))
            }
            _ => HttpResponse::NotFound().finish(),
        }
    })
    .await
}

fn picture(kind: &'static str, bytes: Vec<u8>) -> HttpResponse {
    HttpResponse::Ok()
        .content_type(kind)
        .insert_header((header::CACHE_CONTROL, "public, max-age=86400"))
        .insert_header((header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"))
        .body(bytes)
}
