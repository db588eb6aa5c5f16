//! What a live page shows, in a few characters: by them it is known whether it shows something else by now.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

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
