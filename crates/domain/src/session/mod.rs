//! Sessions: their tokens, how long they live, and how many a user may have.

mod cap;
mod known_tokens;
mod limits;
mod token;
mod token_hash;
mod user_agent;
mod uses;

pub use self::{
    cap::exceeding,
    limits::{Cutoffs, Session, SessionLimits},
    token::{SessionToken, TokenRing},
    token_hash::TokenHash,
    user_agent::UserAgent,
    uses::Uses,
};
