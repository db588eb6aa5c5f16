//! Use cases: what can be done with the service, one concrete struct each, over the ports it needs.

mod all;
mod authenticate;
mod claim;
mod clusters;
mod feed;
mod feedback;
mod follow;
mod forget;
mod give_back;
mod list_guilds;
mod recent;
mod recent_changes;
mod refresh;
mod refreshed;
mod reseal;
mod sessions;
mod settings;
mod show_user;
mod sign_in;
mod single_flight;
mod status;
mod team;
mod token_box;
mod watch_changes;
mod why;

pub use self::{
    all::UseCases,
    authenticate::{Authenticate, AuthenticateError},
    clusters::Clusters,
    feed::Feed,
    feedback::PickFeedback,
    follow::{Delivered, Following, Progress},
    forget::{ForgetUser, Forgotten},
    give_back::{GiveBack, Round},
    list_guilds::{Freshness, GuildListing, ListGuilds, ListGuildsError},
    refresh::RefreshList,
    refreshed::RefreshCounts,
    reseal::{ResealGrants, Resealed},
    sessions::ManageSessions,
    settings::Settings,
    show_user::{ShowUser, StoredGrant, StoredUser},
    sign_in::{Displaced, SignIn, SignInError, SignInRequest, SignedIn},
    single_flight::{SingleFlight, timeout},
    status::{ClusterCount, Moment, ReportStatus},
    team::ShowTeam,
    watch_changes::{Heard, Watch, WatchChanges},
    why::{ExplainGuild, Explanation, LastList},
};
