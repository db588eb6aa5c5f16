//! Use cases: the operations of the service, one concrete struct each. Most share the ports, the settings and the
//! dispatcher of changes; those that need few ports name them.

mod all;
mod claim;
mod dispatch;
mod feed;
mod list_guilds;
mod public;
mod refresh;
mod reseal;
mod revoke_unused;
mod sessions;
mod settings;
mod sign_in;
mod single_flight;
mod status;
mod token_box;
mod user_data;
mod watch_bot;
mod watch_changes;
mod why;

pub use self::{
    all::{Settings, UseCases},
    dispatch::{ChangeDispatcher, Progress},
    feed::{DispatchedRecords, Feed},
    list_guilds::{Freshness, GuildListing, ListGuilds, ListGuildsError},
    public::{PickFeedback, ShowTeam},
    refresh::{RefreshList, RefreshOutcome},
    reseal::{ResealGrants, Resealed},
    revoke_unused::RevokeUnusedGrants,
    sessions::{Authenticate, AuthenticateError, ManageSessions},
    settings::{ChangeAsUserError, GuildSettings, SentValues, SettingsView, UserChange},
    sign_in::{EvictedSessions, SignIn, SignInError, SignInRequest, SignedIn},
    single_flight::{SingleFlight, timeout},
    status::{Clusters, Moment, ReportStatus},
    user_data::{ForgetUser, Forgotten, ShowUser, StoredUser},
    watch_bot::{Alert, Observed, Periods, WatchBot},
    watch_changes::{Watch, WatchChanges, WatchEvent},
    why::{ExplainGuild, Explanation, LastList, find_outline},
};
