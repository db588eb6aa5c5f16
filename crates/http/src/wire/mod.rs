//! JSON shapes of responses. They borrow from the domain and carry their OpenAPI descriptions.

mod guild;
mod public;
mod session;
mod settings;
mod status;

pub(crate) use self::{
    guild::Guild,
    public::{Bounded, FeedbackEntry, PickedFeedback, ShownTeam, TeamMember},
    session::{NewSession, User},
    settings::shown_settings,
    status::{Api, Health, Latency, Resources, Status, milliseconds},
};
pub use self::{
    guild::{Plus, Role},
    public::{ShownFeedback, Snowflake, Submitter},
    session::{Nothing, SessionToken, StoredUser},
    settings::{GuildSettings, SettingsChange, SettingsPatch, SettingsProblem},
};
