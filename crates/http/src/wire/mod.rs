//! JSON shapes of responses. They borrow from the domain and carry their OpenAPI descriptions.

/// Defines shapes: objects that are serialised, have a schema, and are made from a value of the domain. Each field has
/// its type and how it follows from that value.
#[macro_export]
macro_rules! shapes {
    ($(
        $(#[$about:meta])*
        $visibility:vis struct $name:ident $(<$life:lifetime>)? ($value:tt: $from:ty) {
            $($(#[$field_about:meta])* $field:ident: $type:ty = $make:expr,)+
        }
    )+) => {
        $(
            #[derive(serde::Serialize, utoipa::ToSchema)]
            $(#[$about])*
            #[serde(deny_unknown_fields)]
            $visibility struct $name $(<$life>)? {
                $($(#[$field_about])* $field: $type,)+
            }

            impl $(<$life>)? From<$from> for $name $(<$life>)? {
                fn from($value: $from) -> Self {
                    Self { $($field: $make,)+ }
                }
            }
        )+
    };
}

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
    status::{Latency, Status, milliseconds},
};
pub use self::{
    guild::{Plus, Role, by_permission},
    public::{ShownFeedback, Snowflake, Submitter, snowflakes},
    session::{Nothing, SessionToken, StoredUser},
    settings::{GuildSettings, SettingsChange, SettingsPatch, SettingsProblem},
    status::{BuildInfo, Commit},
};
