//! Public answers kept in memory, ready to send.
//!
//! The change feed brings them up to date; requests only read them, without waiting for a store or for a writer. As
//! long as a part was never loaded there is nothing to answer with.

mod clusters;
mod team;

pub(crate) use self::team::RenderedTeam;

use self::clusters::Clusters;
use arc_swap::ArcSwapOption;
use async_trait::async_trait;
use companion_domain::{
    change::Kind,
    model::{ClusterId, Timestamp},
    port::{Follower, News, StoreError},
    rules::{BotStatus, bot_status},
    usecase::{ReportStatus, ShowTeam},
};
use std::{sync::Arc, time::Duration};

/// The public answers of this process.
pub struct Projections {
    show_team: Arc<ShowTeam>,
    report_status: Arc<ReportStatus>,
    team: ArcSwapOption<RenderedTeam>,
    clusters: ArcSwapOption<Clusters>,
}

impl Projections {
    /// Projections of these; nothing is loaded before the first news.
    #[must_use]
    pub fn new(show_team: Arc<ShowTeam>, report_status: Arc<ReportStatus>) -> Arc<Self> {
        let (team, clusters) = (ArcSwapOption::empty(), ArcSwapOption::empty());
        Arc::new(Self { show_team, report_status, team, clusters })
    }

    /// The team, once it was loaded.
    pub(crate) fn team(&self) -> Option<Arc<RenderedTeam>> {
        self.team.load_full()
    }

    /// How the bot is now, once its reports were loaded. Silence comes with time alone, so this is worked out anew.
    pub(crate) fn status(&self) -> Option<BotStatus> {
        let ReportStatus { clock, silent_after, .. } = &*self.report_status;
        let clusters = self.clusters.load();
        let heard = clusters.as_ref()?.last_heard(clock.monotonic());
        Some(bot_status(heard, clock.now(), *silent_after))
    }

    /// Clusters that have said nothing for so long that they can be forgotten, and when their last report came in. One
    /// that this process could not have heard of yet is none of them, however long ago its date is.
    #[must_use]
    pub fn silent_clusters(&self, length: Duration) -> Vec<(ClusterId, Timestamp)> {
        let ReportStatus { clock, silent_after, .. } = &*self.report_status;
        let silent = |clusters: &Clusters| clusters.silent(length, silent_after.get(), clock.monotonic());
        self.clusters.load().as_deref().map(silent).unwrap_or_default()
    }

    async fn load_team(&self) -> Result<(), StoreError> {
        let rendered = RenderedTeam::new(&self.show_team.show().await?)?;
        self.team.store(Some(Arc::new(rendered)));
        Ok(())
    }

    async fn load_clusters(&self, news: &News) -> Result<(), StoreError> {
        let ReportStatus { telemetry, clock, .. } = &*self.report_status;
        let reports = telemetry.clusters().await?;
        // News come one after the other, so nobody else writes between the two.
        let clusters = Clusters::after(self.clusters.load().as_deref(), reports, news, &**clock);
        self.clusters.store(Some(Arc::new(clusters)));
        Ok(())
    }
}

#[async_trait]
impl Follower for Projections {
    async fn follow(&self, news: &News) -> Result<(), StoreError> {
        let touches = |kind: Kind| match news {
            News::Everything => true,
            News::Changes(changes) => changes.iter().any(|change| change.subject.kind() == kind),
        };
        if touches(Kind::Team) {
            self.load_team().await?;
        }
        if touches(Kind::Cluster) {
            self.load_clusters(news).await?;
        }
        Ok(())
    }
}
