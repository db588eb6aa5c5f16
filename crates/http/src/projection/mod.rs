//! Public answers kept in memory, ready to send.
//!
//! The change feed brings them up to date; requests only read them, without waiting for a store or for a writer. As
//! long as a part was never loaded there is nothing to answer with.

pub(crate) mod feedback;
mod listings;
mod status;
mod team;

pub(crate) use self::{listings::RenderedListings, team::RenderedTeam};

use self::{feedback::FeedbackProjection, status::RenderedStatus};
use crate::{
    build_info::BuildInfo,
    metrics::{MetricsSource, MetricsText},
    wire::ShownFeedback,
};
use arc_swap::{ArcSwapOption, Guard};
use async_trait::async_trait;
use companion_domain::{
    change::Kind,
    model::{ClusterId, TeamMember, Timestamp},
    port::{ChangeBatch, Clock, Scheduler, StoreError, Subscriber},
    usecase::{ClusterCount, Clusters, Moment, ReportStatus, ShowTeam, UseCases},
};
use std::{collections::BTreeSet, sync::Arc, time::Duration};

/// The public answers of this process.
pub struct Projections {
    show_team: Arc<ShowTeam>,
    report_status: Arc<ReportStatus>,
    team: ArcSwapOption<RenderedTeam>,
    clusters: ArcSwapOption<Clusters>,
    status: ArcSwapOption<RenderedStatus>,
    pub(crate) feedback: FeedbackProjection,
    /// Read anew for each request.
    elsewhere: BTreeSet<Kind>,
}

impl Projections {
    /// Projections of what these use cases show, led along the change feed by them. Nothing is loaded before the first
    /// news; what takes long is loaded beside the requests.
    #[must_use]
    pub fn of(use_cases: &UseCases, scheduler: Arc<dyn Scheduler>) -> Arc<Self> {
        let projections = Arc::new(Self {
            show_team: use_cases.show_team.clone(),
            report_status: use_cases.report_status.clone(),
            team: ArcSwapOption::empty(),
            clusters: ArcSwapOption::empty(),
            status: ArcSwapOption::empty(),
            feedback: FeedbackProjection::new(use_cases.pick_feedback.clone(), scheduler),
            elsewhere: use_cases.kept_elsewhere.clone(),
        });
        use_cases.dispatcher.add(projections.clone());
        if !projections.elsewhere.contains(&Kind::Feedback) {
            use_cases.dispatcher.add(Arc::new(projections.feedback.clone()));
        }
        projections
    }

    /// Whether things of this kind are kept in memory. Otherwise [`read`](Self::read) them for each request.
    pub(crate) fn has(&self, kind: Kind) -> bool {
        !self.elsewhere.contains(&kind)
    }

    /// Reads the team or the status anew, if it is kept elsewhere.
    pub async fn read(&self, kind: Kind) -> Result<(), StoreError> {
        match kind {
            kind if self.has(kind) => Ok(()),
            Kind::Team => self.load_team().await,
            Kind::Cluster => self.load_clusters(&ChangeBatch::Everything).await,
            _ => Ok(()),
        }
    }

    /// The team, once it was loaded.
    pub(crate) fn team(&self) -> Guard<Option<Arc<RenderedTeam>>> {
        self.team.load()
    }

    /// Who is in the team, once that was loaded.
    #[must_use]
    pub fn team_members(&self) -> Option<Arc<[TeamMember]>> {
        self.team.load().as_ref().map(|team| Arc::clone(&team.members))
    }

    /// A few kind words at random, where all of them are in memory.
    #[must_use]
    pub fn picked_feedback(&self, clock: &dyn Clock) -> Option<Vec<ShownFeedback>> {
        ShownFeedback::of_answer(&self.feedback.pick(clock)?)
    }

    /// How this build and the bot are at this moment, once the bot's reports were loaded. It is rendered anew by the first
    /// request after it has changed.
    pub(crate) fn status(
        &self,
        build: &BuildInfo,
        moment: Moment,
    ) -> Option<Result<Arc<RenderedStatus>, serde_json::Error>> {
        let clusters = self.clusters.load();
        let clusters = clusters.as_ref()?;
        let known = self.status.load();
        if let Some(known) = known.as_ref().filter(|known| known.is_of(clusters, moment)) {
            return Some(Ok(Arc::clone(known)));
        }
        let report = self.report_status.report(clusters, moment);
        let rendered = RenderedStatus::new(build, Arc::clone(clusters), report, moment).map(Arc::new);
        if let Ok(rendered) = &rendered {
            self.status.store(Some(Arc::clone(rendered)));
        }
        Some(rendered)
    }

    /// What every cluster of the bot said last, once that was loaded.
    #[must_use]
    pub fn clusters(&self) -> Option<Arc<Clusters>> {
        self.clusters.load_full()
    }

    /// Clusters that have said nothing for so long that they can be forgotten, and when their last report came in.
    #[must_use]
    pub fn silent_clusters(&self, length: Duration) -> Vec<(ClusterId, Timestamp)> {
        let clusters = self.clusters.load();
        let silent = clusters.as_deref().map(|clusters| self.report_status.silent(clusters, length));
        silent.unwrap_or_default()
    }

    async fn load_team(&self) -> Result<(), StoreError> {
        let rendered = RenderedTeam::new(self.show_team.show().await?)?;
        self.team.store(Some(Arc::new(rendered)));
        Ok(())
    }

    async fn load_clusters(&self, batch: &ChangeBatch) -> Result<(), StoreError> {
        // ChangeBatch come one after the other, so nobody else writes between the two.
        let earlier = self.clusters.load_full();
        let clusters = self.report_status.clusters(earlier.as_deref(), batch).await?;
        self.clusters.store(Some(Arc::new(clusters)));
        Ok(())
    }
}

#[async_trait]
impl Subscriber for Projections {
    fn name(&self) -> &'static str {
        "team_and_status"
    }

    async fn receive(&self, batch: &ChangeBatch) -> Result<(), StoreError> {
        let touches = |kind: Kind| match batch {
            ChangeBatch::Everything => true,
            ChangeBatch::Changes(changes) => changes.iter().any(|change| change.subject.kind() == kind),
        };
        if touches(Kind::Team) {
            self.load_team().await?;
        }
        if touches(Kind::Cluster) {
            self.load_clusters(batch).await?;
        }
        Ok(())
    }
}

impl MetricsSource for Projections {
    fn write(&self, text: &mut MetricsText) {
        let feedback = self.feedback.memory();
        if let Some(clusters) = self.clusters.load().as_deref() {
            write_clusters(self.report_status.count(clusters), text);
        }
        let team = self.team.load().as_ref().map_or(0, |team| team.body.len());
        for (name, help, value) in [
            ("companion_feedback_entries", "Positive feedback kept in memory.", feedback.entries),
            ("companion_feedback_bytes", "Memory of that.", feedback.bytes),
            ("companion_team_bytes", "Memory of the team's answer.", team),
        ] {
            text.gauge(name, help, &[], value as f64);
        }
    }
}

fn write_clusters(ClusterCount { live, silent, last_heard }: ClusterCount, text: &mut MetricsText) {
    let help = "Clusters of the bot: live, or silent for so long that they no longer count.";
    for (state, count) in [("live", live), ("silent", silent)] {
        text.gauge("companion_bot_clusters", help, &[("state", state)], f64::from(count));
    }
    let age = last_heard.map_or(f64::INFINITY, |age| age.as_secs_f64());
    let help = "How long ago the bot last reported; +Inf where it never has.";
    text.gauge("companion_bot_report_age_seconds", help, &[], age);
}
