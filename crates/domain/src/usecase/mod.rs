//! Use cases: what can be done with the service, one concrete struct each, over the ports it needs.

mod all;
mod authenticate;
mod claim;
mod clusters;
mod feed;
mod follow;
mod forget;
mod give_back;
mod list_guilds;
mod public;
mod recent;
mod refresh;
mod refreshed;
mod reseal;
mod sessions;
mod show_user;
mod sign_in;
mod single_flight;
mod status;
mod token_box;
mod watch_changes;
mod why;

pub use self::{
    all::{Settings, UseCases},
    authenticate::{Authenticate, AuthenticateError},
    clusters::Clusters,
    feed::Feed,
    follow::{Delivered, Following, Progress},
    forget::{ForgetUser, Forgotten},
    give_back::{GiveBack, Round},
    list_guilds::{Freshness, GuildListing, ListGuilds, ListGuildsError},
    public::{PickFeedback, ShowTeam},
    refresh::RefreshList,
    refreshed::RefreshCounts,
    reseal::{ResealGrants, Resealed},
    sessions::ManageSessions,
    show_user::{ShowUser, StoredGrant, StoredUser},
    sign_in::{Displaced, SignIn, SignInError, SignInRequest, SignedIn},
    single_flight::{SingleFlight, timeout},
    status::{ClusterCount, Moment, ReportStatus},
    watch_changes::{Heard, Watch, WatchChanges},
    why::{ExplainGuild, Explanation, LastList},
};
