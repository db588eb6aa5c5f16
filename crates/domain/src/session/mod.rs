//! Sessions: their tokens, how long they live, and how many a user may have.

mod known_tokens;
mod limits;
mod token;

pub use self::{
    known_tokens::KnownTokens,
    limits::{Cutoffs, Session, SessionLimits, Uses, exceeding},
    token::{SessionToken, TokenHash, TokenRing},
};
pub use crate::model::UserAgent;
