//! The shapes of the JSON that goes out. They borrow from the domain, and carry what the OpenAPI document says of them.

mod feedback;
mod guild;
mod list;
mod permissions;
mod session;
mod snowflake;
mod status;
mod stored_user;
mod team;
mod user;

pub(crate) use self::{
    feedback::{FeedbackEntry, PickedFeedback},
    guild::Guild,
    permissions::Permissions,
    session::NewSession,
    status::{Api, Health, Latency, Resources, Status, milliseconds},
    team::{ShownTeam, TeamMember},
    user::User,
};
pub use self::{
    feedback::{ShownFeedback, Submitter},
    guild::{Plus, Role},
    session::{Nothing, SessionToken},
    snowflake::Snowflake,
    stored_user::StoredUser,
};
