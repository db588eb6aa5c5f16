//! Sessions: their tokens, how long they live, and how many a user may have.

mod known_tokens;
mod limits;
mod token;
mod token_hash;
mod user_agent;

pub use self::{
    limits::{Cutoffs, Session, SessionLimits, Uses, exceeding},
    token::{SessionToken, TokenRing},
    token_hash::TokenHash,
    user_agent::UserAgent,
};
