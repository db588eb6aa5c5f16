//! Sessions: their tokens, how long they live, and how many a user may have.

mod cap;
mod limits;
mod token;
mod uses;

pub use self::{
    cap::exceeding,
    limits::{Cutoffs, Session, SessionLimits},
    token::{SessionToken, TokenHash, TokenRing},
    uses::Uses,
};
