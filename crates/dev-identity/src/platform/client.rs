//! Applications.

use serde::Deserialize;
use std::fmt;

/// An application that may sign users in.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Client {
    /// Its public id.
    pub id: String,
    /// Its secret; any characters.
    pub secret: String,
    /// Where users may be sent back to, to the letter.
    pub redirect_uris: Vec<String>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("id", &self.id)
            .field("redirect_uris", &self.redirect_uris)
            .finish_non_exhaustive()
    }
}
