//! What the public API is given.

use crate::{
    client::TrustedProxies,
    origin::{Origin, Redirects},
};
use companion_domain::{
    model::PictureServer,
    usecase::{
        self, Authenticate, ExplainGuild, Feed, ForgetUser, ListGuilds, LookUp, ManageSessions, PickFeedback,
        ReportStatus, ShowTeam, SignIn,
    },
};
use std::{num::NonZeroU32, sync::Arc};

/// Everything that can be done with the service.
#[derive(Clone)]
pub struct UseCases {
    /// Signs users in.
    pub sign_in: Arc<SignIn>,
    /// Recognises sessions.
    pub authenticate: Arc<Authenticate>,
    /// Lists guilds.
    pub list_guilds: Arc<ListGuilds>,
    /// Picks feedback.
    pub pick_feedback: Arc<PickFeedback>,
    /// Shows the team.
    pub show_team: Arc<ShowTeam>,
    /// Reports the status.
    pub report_status: Arc<ReportStatus>,
    /// Lists and ends sessions.
    pub sessions: Arc<ManageSessions>,
    /// Forgets users.
    pub forget: Arc<ForgetUser>,
    /// Takes in what the bot reports.
    pub feed: Arc<Feed>,
    /// Looks up what the bot has reported.
    pub look_up: Arc<LookUp>,
    /// Explains what a user is shown of a guild.
    pub explain: Arc<ExplainGuild>,
}

impl From<&usecase::UseCases> for UseCases {
    fn from(all: &usecase::UseCases) -> Self {
        Self {
            sign_in: all.sign_in.clone(),
            authenticate: all.authenticate.clone(),
            list_guilds: all.list_guilds.clone(),
            pick_feedback: all.pick_feedback.clone(),
            show_team: all.show_team.clone(),
            report_status: all.report_status.clone(),
            sessions: all.sessions.clone(),
            forget: all.forget.clone(),
            feed: all.feed.clone(),
            look_up: all.look_up.clone(),
            explain: all.explain.clone(),
        }
    }
}

/// How the public API behaves.
#[derive(Debug, Clone)]
pub struct PublicSettings {
    /// Pages of these origins may read answers and sign users in.
    pub allowed_origins: Vec<Origin>,
    /// Where the platform sends users back to.
    pub redirects: Redirects,
    /// Whether `DELETE /auth` ends a session.
    pub sign_out: bool,
    /// The largest request body that is read, in bytes.
    pub body_limit: usize,
    /// What `GET /` says about the running version.
    pub build: BuildInfo,
    /// Where pictures are, for guilds without an icon.
    pub pictures: PictureServer,
    /// Whether each request is worth a line in the log.
    pub access_log: bool,
    /// Proxies of ours, whose word about the client's address counts.
    pub trusted_proxies: TrustedProxies,
    /// How many refused codes one client may send in a minute.
    pub refused_codes_per_minute: NonZeroU32,
}

/// The running version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildInfo {
    /// Its name: the version of the crate.
    pub name: String,
    /// The branch it was built from.
    pub branch: String,
    /// The full hash of the commit.
    pub sha: String,
    /// The commit's message.
    pub message: String,
    /// The commit's author.
    pub author: String,
    /// When the commit was made, in seconds since 1970.
    pub timestamp: i64,
}
