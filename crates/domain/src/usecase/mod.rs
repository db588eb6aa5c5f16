//! Use cases: what can be done with the service, one concrete struct each, over the ports it needs.

mod all;
mod claim;
mod clusters;
mod feed;
mod follow;
mod give_back;
mod list_guilds;
mod public;
mod refresh;
mod reseal;
mod sessions;
mod sign_in;
mod single_flight;
mod status;
mod token_box;
mod user_data;
mod watch_changes;
mod why;

pub use self::{
    all::{Settings, UseCases},
    clusters::Clusters,
    feed::Feed,
    follow::{Delivered, Following, Progress},
    give_back::{GiveBack, Round},
    list_guilds::{Freshness, GuildListing, ListGuilds, ListGuildsError},
    public::{PickFeedback, ShowTeam},
    refresh::{RefreshCounts, RefreshList},
    reseal::{ResealGrants, Resealed},
    sessions::{Authenticate, AuthenticateError, ManageSessions},
    sign_in::{Displaced, SignIn, SignInError, SignInRequest, SignedIn},
    single_flight::{SingleFlight, timeout},
    status::{ClusterCount, Moment, ReportStatus},
    user_data::{ForgetUser, Forgotten, ShowUser, StoredGrant, StoredUser},
    watch_changes::{Heard, Watch, WatchChanges},
    why::{ExplainGuild, Explanation, LastList},
};
