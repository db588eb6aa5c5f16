//! Sessions: their tokens, how long they live, and how many a user may have.

mod limits;
mod token;

pub use self::{
    limits::{Cutoffs, Session, SessionLimits},
    token::{SessionToken, TokenHash, TokenRing},
};
