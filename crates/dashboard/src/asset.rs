//! Stylesheet, icon and script. Their paths contain a hash of their content, so browsers may cache them for ever.

use crate::{
    appearance::{Accent, Appearance},
    context::Exchange,
    page::Answer,
};
use actix_web::{
    HttpResponse,
    http::header::{self, HeaderValue},
    web::Bytes,
};
use companion_http::ApiError;
use miniz_oxide::deflate::compress_to_vec_zlib;
use sha2::{Digest as _, Sha256};

/// Path of an asset.
pub(crate) const PATH: &str = "/assets/{hash}/{file}";

const IMMUTABLE: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");
const A_DAY: HeaderValue = HeaderValue::from_static("public, max-age=86400");

/// Policy of a picture that can contain scripts, for browsers that open it as a page.
const SANDBOX: HeaderValue =
    HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'; sandbox");
const SVG: &str = "image/svg+xml";

/// Level at which files are compressed, once at the start.
const BEST_COMPRESSION: u8 = 10;

/// The files of a site.
#[derive(Debug)]
pub(crate) struct Assets {
    pub(crate) style: Asset,
    pub(crate) icon: Asset,
    pub(crate) script: Asset,
}

#[derive(Debug)]
pub(crate) struct Asset {
    pub(crate) path: String,
    pub(crate) media_type: &'static str,
    content: Bytes,
    /// The content for browsers that accept deflate, if that is smaller. Pages are not compressed, because they contain
    /// both secrets and text of visitors.
    compressed: Option<Bytes>,
}

impl Assets {
    /// Creates the files, with the accent and logo of the operator.
    pub(crate) fn new(appearance: &Appearance) -> Self {
        let mut style = include_str!("../assets/style.css").to_owned();
        style.extend(appearance.accent.map(Accent::style));
        let icon = match &appearance.logo {
            Some(logo) => Asset::new(logo.file, logo.media_type, logo.content.clone()),
            None => Asset::new("icon.svg", SVG, include_bytes!("../assets/icon.svg").as_slice()),
        };
        let script = include_bytes!("../assets/live.js").as_slice();
        Self {
            style: Asset::new("style.css", "text/css; charset=utf-8", style),
            icon,
            script: Asset::new("live.js", "text/javascript; charset=utf-8", script),
        }
    }
}

impl Asset {
    fn new(file: &str, media_type: &'static str, content: impl Into<Bytes>) -> Self {
        let content = content.into();
        let hash = short_hash(&content);
        let compressed = compress_to_vec_zlib(&content, BEST_COMPRESSION);
        let compressed = (compressed.len() < content.len()).then(|| compressed.into());
        Self { path: format!("/assets/{hash}/{file}"), media_type, content, compressed }
    }
}

/// Returns the first eight bytes of a SHA-256 in hexadecimal.
pub(crate) fn short_hash(content: &[u8]) -> String {
    Sha256::digest(content).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Serves an asset. A path of another version is not found: the wrong content would be cached for ever.
pub(crate) async fn serve(Exchange { context, request }: Exchange) -> Answer {
    let Assets { style, icon, script } = &context.site.assets;
    let found = [style, icon, script].into_iter().find(|asset| asset.path == request.path());
    let found = found.ok_or(ApiError::NotFound)?;
    let mut response = HttpResponse::Ok();
    response.content_type(found.media_type).insert_header((header::CACHE_CONTROL, IMMUTABLE));
    if found.media_type == SVG {
        response.insert_header((header::CONTENT_SECURITY_POLICY, SANDBOX));
    }
    response.insert_header((header::VARY, "Accept-Encoding"));
    let accepted = request.headers().get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
    let accepts_deflate = |accepted: &str| {
        let mut encodings = accepted.split(',').map(|one| one.split(';').map(str::trim));
        encodings.any(|mut one| one.next() == Some("deflate") && one.next() != Some("q=0"))
    };
    let compressed = found.compressed.as_ref().filter(|_| accepted.is_some_and(accepts_deflate));
    if compressed.is_some() {
        response.insert_header((header::CONTENT_ENCODING, "deflate"));
    }
    Ok(response.body(compressed.unwrap_or(&found.content).clone()))
}

/// Lets search engines read the public pages only.
pub(crate) async fn robots() -> HttpResponse {
    const RULES: &str =
        "User-agent: *\nAllow: /$\nAllow: /team$\nAllow: /status$\nAllow: /assets/\nDisallow: /\n";
    let mut response = HttpResponse::Ok();
    response.content_type("text/plain; charset=utf-8").insert_header((header::CACHE_CONTROL, A_DAY));
    response.body(RULES)
}

/// Start of the live region of a page. The attribute gets the fingerprint of its content.
const BEGIN: &str = "<div id=\"live\" data-seen=\"\">";
/// End of the live region.
const END: &str = "</div><!-- live -->";

/// Returns the fingerprint of the live region of a page; empty if it has none.
pub(crate) fn live_fingerprint(page: &str) -> String {
    let live = page.split_once(BEGIN).and_then(|(_, rest)| rest.split_once(END));
    live.map(|(live, _)| short_hash(live.as_bytes())).unwrap_or_default()
}

/// Inserts the fingerprint into the page.
pub(crate) fn with_fingerprint(page: &str) -> String {
    page.replacen("data-seen=\"\"", &format!("data-seen=\"{}\"", live_fingerprint(page)), 1)
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
