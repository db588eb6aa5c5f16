//! The user agent of a client.

use crate::{model::Invalid, named::plain_text};
use std::{str::FromStr, sync::Arc};

/// The `User-Agent` header at the sign-in. It is only displayed; no decision depends on it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct UserAgent(Arc<str>);

impl UserAgent {
    /// Maximum number of characters.
    pub const MAX: usize = 256;

    /// Returns a header value without control characters, truncated to the maximum. `None` if it is empty then.
    #[must_use]
    pub fn sent(text: &str) -> Option<Self> {
        let kept: String =
            text.trim().chars().filter(|letter| !letter.is_control()).take(Self::MAX).collect();
        (!kept.is_empty()).then(|| Self(kept.into()))
    }
}

plain_text!(UserAgent);

impl FromStr for UserAgent {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let length = text.chars().count();
        if (1..=Self::MAX).contains(&length) && !text.chars().any(char::is_control) {
            Ok(Self(text.into()))
        } else {
            Err(Invalid::new("user_agent", "text of 1 to 256 characters without control characters"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncates_and_strips_control_characters() {
        let sent = |text: &str| UserAgent::sent(text).map(|agent| agent.to_string());
        assert_eq!(sent(" Mozilla/5.0 (X11)\t").as_deref(), Some("Mozilla/5.0 (X11)"));
        assert_eq!(sent("a\0b\x1b[0mc").as_deref(), Some("ab[0mc"));
        assert_eq!(sent(&"é".repeat(300)), Some("é".repeat(256)));
        assert_eq!((sent(""), sent(" \r\n")), (None, None));
        assert_eq!("é".repeat(256).parse::<UserAgent>().unwrap(), UserAgent::sent(&"é".repeat(300)).unwrap());
        for refused in ["", "a\nb", &"é".repeat(257)] {
            assert_eq!(refused.parse::<UserAgent>().unwrap_err().field, "user_agent", "{refused:?}");
        }
    }
}
