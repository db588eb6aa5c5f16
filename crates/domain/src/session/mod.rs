//! Sessions: their tokens, how long they live, and how many a user may have.

mod cap;
mod limits;
mod token;
mod user_agent;
mod uses;

pub use self::{
    cap::exceeding,
    limits::{Cutoffs, Session, SessionLimits},
    token::{SessionToken, TokenHash, TokenRing},
    user_agent::UserAgent,
    uses::Uses,
};
