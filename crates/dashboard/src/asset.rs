//! Style, icon and script. Their paths name their content, so browsers keep them for as long as they like.

use actix_web::{
    HttpResponse,
    http::header::{self, HeaderValue},
    web,
};
use companion_http::ApiError;
use sha2::{Digest as _, Sha256};
use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::LazyLock,
};

/// Where they are.
pub(crate) const PATH: &str = "/assets/{hash}/{file}";

const FOR_EVER: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");

struct Asset {
    path: String,
    media_type: &'static str,
    content: &'static [u8],
}

static STYLE: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("style.css", "text/css; charset=utf-8", include_bytes!("../assets/style.css"))
});
static ICON: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("icon.svg", "image/svg+xml", include_bytes!("../assets/icon.svg")));

static LIVE: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("live.js", "text/javascript; charset=utf-8", include_bytes!("../assets/live.js"))
});

impl Asset {
    fn new(file: &str, media_type: &'static str, content: &'static [u8]) -> Self {
        let hash: String = Sha256::digest(content).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        Self { path: format!("/assets/{hash}/{file}"), media_type, content }
    }
}

/// The path of the style.
pub(crate) fn style() -> &'static str {
    &STYLE.path
}

/// The path of the icon.
pub(crate) fn icon() -> &'static str {
    &ICON.path
}

/// The path of the script.
pub(crate) fn script() -> &'static str {
    &LIVE.path
}

/// Serves all of them. A path of another version is not found: its content would be wrong for as long as it is kept.
pub(crate) async fn serve(path: web::Path<(String, String)>) -> Result<HttpResponse, ApiError> {
    let (hash, file) = path.into_inner();
    let asked = format!("/assets/{hash}/{file}");
    let found =
        [&*STYLE, &*ICON, &*LIVE].into_iter().find(|asset| asset.path == asked).ok_or(ApiError::NotFound)?;
    let mut response = HttpResponse::Ok();
    response.content_type(found.media_type).insert_header((header::CACHE_CONTROL, FOR_EVER));
    Ok(response.body(found.content))
}

/// Where the part of a page begins that is kept up to date. It says what it shows, once that is known.
const BEGIN: &str = "<div id=\"live\" data-seen=\"\">";
/// Where that part ends.
const END: &str = "</div><!-- live -->";

/// The fingerprint of the live part of a page; empty where it has none.
pub(crate) fn of(page: &str) -> String {
    let live = page.split_once(BEGIN).and_then(|(_, rest)| rest.split_once(END));
    live.map(|(live, _)| hash(live)).unwrap_or_default()
}

/// The page with its fingerprint in it.
pub(crate) fn written_into(page: &str) -> String {
    page.replacen("data-seen=\"\"", &format!("data-seen=\"{}\"", of(page)), 1)
}

/// Other builds may hash otherwise, after which every page is loaded once more.
fn hash(text: &str) -> String {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_is_of_the_live_part_and_nothing_else() {
        let page = |before: &str, live: &str| format!("{before}{BEGIN}{live}{END} after");
        assert_eq!(of(&page("one", "same")), of(&page("two", "same")));
        assert_ne!(of(&page("one", "this")), of(&page("one", "that")));
        assert_eq!(of("nothing lives here"), "");
        let written = written_into(&page("one", "this"));
        assert!(written.contains(&format!("data-seen=\"{}\"", of(&page("", "this")))), "{written}");
    }
}
