//! Stylesheet, icon and script. Their paths contain a hash of their content, so browsers may cache them for ever.

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::{self, HeaderValue},
};
use companion_http::ApiError;
use sha2::{Digest as _, Sha256};
use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::LazyLock,
};

/// Path of an asset.
pub(crate) const PATH: &str = "/assets/{hash}/{file}";

const IMMUTABLE: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");

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

/// Returns the path of the stylesheet.
pub(crate) fn style() -> &'static str {
    &STYLE.path
}

/// Returns the path of the icon.
pub(crate) fn icon() -> &'static str {
    &ICON.path
}

/// Returns the path of the script.
pub(crate) fn script() -> &'static str {
    &LIVE.path
}

/// Serves an asset. A path of another version is not found: the wrong content would be cached for ever.
pub(crate) async fn serve(request: HttpRequest) -> Result<HttpResponse, ApiError> {
    let asked = request.match_info().as_str();
    let found =
        [&*STYLE, &*ICON, &*LIVE].into_iter().find(|asset| asset.path == asked).ok_or(ApiError::NotFound)?;
    let mut response = HttpResponse::Ok();
    response.content_type(found.media_type).insert_header((header::CACHE_CONTROL, IMMUTABLE));
    Ok(response.body(found.content))
}

/// Start of the live region of a page. The attribute gets the fingerprint of its content.
const BEGIN: &str = "<div id=\"live\" data-seen=\"\">";
/// End of the live region.
const END: &str = "</div><!-- live -->";

/// Returns the fingerprint of the live region of a page; empty if it has none.
pub(crate) fn live_fingerprint(page: &str) -> String {
    let live = page.split_once(BEGIN).and_then(|(_, rest)| rest.split_once(END));
    live.map(|(live, _)| hash(live)).unwrap_or_default()
}

/// Inserts the fingerprint into the page.
pub(crate) fn with_fingerprint(page: &str) -> String {
    page.replacen("data-seen=\"\"", &format!("data-seen=\"{}\"", live_fingerprint(page)), 1)
}

/// Not stable across builds; after an update every open page reloads once.
fn hash(text: &str) -> String {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_cover_only_the_live_region() {
        let page = |before: &str, live: &str| format!("{before}{BEGIN}{live}{END} after");
        assert_eq!(live_fingerprint(&page("one", "same")), live_fingerprint(&page("two", "same")));
        assert_ne!(live_fingerprint(&page("one", "this")), live_fingerprint(&page("one", "that")));
        assert_eq!(live_fingerprint("nothing lives here"), "");
        let written = with_fingerprint(&page("one", "this"));
        assert!(
            written.contains(&format!("data-seen=\"{}\"", live_fingerprint(&page("", "this")))),
            "{written}"
        );
    }
}
