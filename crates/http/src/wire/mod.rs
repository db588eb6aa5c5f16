//! JSON shapes of responses. They borrow from the domain and carry their OpenAPI descriptions.

/// Defines a list type whose schema has a maximum number of items.
macro_rules! bounded_list {
    ($(#[doc = $about:literal])+ $list:ident of $item:ident, $most:expr) => {
        $(#[doc = $about])+
        #[derive(serde::Serialize)]
        pub(crate) struct $list<'a>(pub(crate) Vec<$item<'a>>);

        impl utoipa::PartialSchema for $list<'_> {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                let item = utoipa::openapi::Ref::from_schema_name(<$item<'_> as utoipa::ToSchema>::name());
                utoipa::openapi::ArrayBuilder::new().items(item).max_items(Some($most)).into()
            }
        }

        impl utoipa::ToSchema for $list<'_> {
            fn schemas(
                schemas: &mut Vec<(String, utoipa::openapi::RefOr<utoipa::openapi::Schema>)>,
            ) {
                let name = <$item<'_> as utoipa::ToSchema>::name();
                schemas.push((name.into(), <$item<'_> as utoipa::PartialSchema>::schema()));
                <$item<'_> as utoipa::ToSchema>::schemas(schemas);
            }
        }
    };
}

mod guild;
mod public;
mod session;
mod settings;
mod status;

pub(crate) use self::{
    guild::Guild,
    public::{FeedbackEntry, PickedFeedback, ShownTeam, TeamMember},
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
