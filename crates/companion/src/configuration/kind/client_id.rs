//! The name under which the platform knows us.

use crate::configuration::{
    raw::Raw,
    refusal::Refusal,
    setting::{Setting, quoted, text_like},
};
use serde_json::Value;

/// A client id: printable text. Many look like numbers; none is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientId(String);

impl ClientId {
    /// The id as the platform gave it out.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Setting for ClientId {
    fn read(raw: &Raw) -> Result<Self, Refusal> {
        let text = raw.text()?;
        if !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic()) {
            Ok(Self(text.to_owned()))
        } else {
            Err(Refusal::must_be("printable text without spaces"))
        }
    }

    fn schema() -> Value {
        text_like("^[!-~]+$")
    }

    fn show(&self) -> String {
        quoted(&self.0)
    }
}
