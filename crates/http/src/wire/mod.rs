//! The shapes of the JSON that goes out. They borrow from the domain, and carry what the OpenAPI document says of them.

mod feedback;
mod guild;
mod permissions;
mod session;
mod snowflake;
mod status;
mod team;
mod user;

pub(crate) use self::{
    feedback::FeedbackEntry,
    guild::Guild,
    permissions::Permissions,
    session::{Nothing, Session, SessionToken},
    snowflake::Snowflake,
    status::{Api, Health, Latency, Resources, Status, milliseconds},
    team::TeamMember,
    user::User,
};
