//! Origins of web pages.

use crate::configuration::{
    raw::Raw,
    refusal::Refusal,
    setting::{Setting, quoted},
};
use companion_http::Origin;

impl Setting for Origin {
    fn read(raw: &Raw) -> Result<Self, Refusal> {
        Ok(raw.text()?.parse::<Self>()?)
    }

    fn show(&self) -> String {
        quoted(self)
    }
}
