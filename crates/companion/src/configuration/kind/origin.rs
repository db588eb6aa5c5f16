//! Origins of web pages.

use crate::configuration::{
    raw::Raw,
    refusal::Refusal,
    setting::{Setting, quoted, text_like},
};
use companion_http::Origin;
use serde_json::Value;

impl Setting for Origin {
    fn read(raw: &Raw) -> Result<Self, Refusal> {
        Ok(raw.text()?.parse::<Self>()?)
    }

    fn schema() -> Value {
        text_like("^https?://[^/]+$")
    }

    fn show(&self) -> String {
        quoted(self)
    }
}
