//! The shapes of the JSON that goes out. They borrow from the domain, and carry what the OpenAPI document says of them.

mod changes;
mod explanation;
mod feedback;
mod guild;
mod permissions;
mod session;
mod session_record;
mod snowflake;
mod status;
mod team;
mod user;

pub(crate) use self::{
    changes::Changes,
    explanation::Explanation,
    feedback::FeedbackEntry,
    guild::Guild,
    permissions::Permissions,
    session::{Nothing, Session, SessionToken},
    session_record::SessionRecord,
    snowflake::Snowflake,
    status::{Api, Health, Latency, Resources, Status, milliseconds},
    team::TeamMember,
    user::User,
};
