//! Where someone goes after a sign-in.

/// The longest path that is kept.
const LONGEST: usize = 256;

/// A path of this site, never an address elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReturnPath(String);

impl ReturnPath {
    /// The path that was asked for where it is one of ours, otherwise the user's guilds.
    pub(crate) fn of(asked: Option<&str>) -> Self {
        Self(asked.filter(|path| is_ours(path)).unwrap_or("/guilds").to_owned())
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether a browser can only read this as a path of this site: two slashes would begin another host, browsers read `\` as
/// `/` and leave out control characters. The way into a sign-in would only lead in a circle.
fn is_ours(path: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'_');
    let leads_back = ["/sign-in", "/callback", "/sign-out"].iter().any(|way| path.starts_with(way));
    path.len() <= LONGEST
        && path.starts_with('/')
        && !path.contains("//")
        && path.bytes().all(plain)
        && !leads_back
        && path != "/"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_of_this_site_are_gone_back_to() {
        for ours in ["/guilds", "/guilds/123", "/my-data", "/team"] {
            assert_eq!(ReturnPath::of(Some(ours)).as_str(), ours);
        }
        for not_ours in [
            "",
            "/",
            "guilds",
            "//evil.example",
            "/\\evil.example",
            "/a//b",
            "https://evil.example/",
            "/\t/evil.example",
            "/%2f/evil.example",
            "/guilds?x=1",
            "/sign-in",
            "/callback",
            "/sign-out",
            "/ä",
            &format!("/{}", "x".repeat(LONGEST)),
        ] {
            assert_eq!(ReturnPath::of(Some(not_ours)).as_str(), "/guilds", "{not_ours}");
        }
        assert_eq!(ReturnPath::of(None).as_str(), "/guilds");
    }
}
