//! Public responses kept in memory.
//!
//! A subscriber of the change feed keeps them current. Requests only read them and wait for neither the store nor a
//! writer. Until its first load, a part is `None`.

pub(crate) mod feedback;
mod status;

use self::{
    feedback::{FeedbackProjection, MAX_ENTRIES},
    status::RenderedStatus,
};
use crate::{
    envelope,
    metrics::{MetricsSource, MetricsText},
    wire::{self, BuildInfo, ShownFeedback},
};
use actix_web::{
    http::header::{self, HeaderMap, HeaderValue},
    web::Bytes,
};
use arc_swap::ArcSwapOption;
use async_trait::async_trait;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use companion_domain::{
    change::Kind,
    model::{Notice, TeamMember},
    port::{ChangeBatch, Clock, Scheduler, StoreError, Subscriber},
    rules::ShardState,
    usecase::{Clusters, Moment, Periods, ReportStatus, ShowTeam, UseCases},
};
use sha2::{Digest as _, Sha256};
use std::{collections::BTreeSet, sync::Arc};

/// The public responses of this process.
pub struct Projections {
    show_team: Arc<ShowTeam>,
    report_status: Arc<ReportStatus>,
    pub(crate) team: ArcSwapOption<RenderedTeam>,
    clusters: ArcSwapOption<Clusters>,
    status: ArcSwapOption<RenderedStatus>,
    periods: ArcSwapOption<Periods>,
    notices: ArcSwapOption<Vec<Notice>>,
    pub(crate) feedback: FeedbackProjection,
    /// Kinds that are read from the store for each request.
    elsewhere: BTreeSet<Kind>,
}

impl Projections {
    /// Creates projections and subscribes them to changes. They load with the first change batch; large parts load in
    /// the background.
    #[must_use]
    pub fn of(use_cases: &UseCases, scheduler: Arc<dyn Scheduler>) -> Arc<Self> {
        let projections = Arc::new(Self {
            show_team: use_cases.show_team.clone(),
            report_status: use_cases.report_status.clone(),
            team: ArcSwapOption::empty(),
            clusters: ArcSwapOption::empty(),
            status: ArcSwapOption::empty(),
            periods: ArcSwapOption::empty(),
            notices: ArcSwapOption::empty(),
            feedback: FeedbackProjection::new(MAX_ENTRIES, use_cases.pick_feedback.clone(), scheduler),
            elsewhere: use_cases.kept_elsewhere.clone(),
        });
        use_cases.dispatcher.add(projections.clone());
        if !projections.elsewhere.contains(&Kind::Feedback) {
            use_cases.dispatcher.add(Arc::new(projections.feedback.clone()));
        }
        projections
    }

    /// Whether records of this kind are kept in memory. If not, call [`read`](Self::read) for each request.
    pub(crate) fn has(&self, kind: Kind) -> bool {
        !self.elsewhere.contains(&kind)
    }

    /// Reads the team or the status from the store, if it is not kept in memory.
    pub async fn read(&self, kind: Kind) -> Result<(), StoreError> {
        match kind {
            kind if self.has(kind) => Ok(()),
            Kind::Team => self.load_team().await,
            Kind::Cluster => self.load_clusters(&ChangeBatch::Everything).await,
            _ => Ok(()),
        }
    }

    /// Returns the team members, if loaded.
    #[must_use]
    pub fn team_members(&self) -> Option<Arc<[TeamMember]>> {
        self.team.load().as_ref().map(|team| Arc::clone(&team.members))
    }

    /// Returns a few positive entries at random, if all of them are in memory.
    #[must_use]
    pub fn picked_feedback(&self, clock: &dyn Clock) -> Option<Vec<ShownFeedback>> {
        ShownFeedback::of_answer(&self.feedback.pick(clock)?)
    }

    /// Returns the status at this moment, if the bot's reports are loaded. The first request after a change renders it.
    pub(crate) fn status(
        &self,
        build: &BuildInfo,
        moment: Moment,
    ) -> Option<Result<Arc<RenderedStatus>, serde_json::Error>> {
        let clusters = self.clusters.load();
        let clusters = clusters.as_ref()?;
        let known = self.status.load();
        if let Some(known) = known.as_ref().filter(|known| known.is_current(clusters, moment)) {
            return Some(Ok(Arc::clone(known)));
        }
        let report = self.report_status.report(clusters, moment);
        let rendered = RenderedStatus::new(build, Arc::clone(clusters), report, moment).map(Arc::new);
        if let Ok(rendered) = &rendered {
            self.status.store(Some(Arc::clone(rendered)));
        }
        Some(rendered)
    }

    /// Returns the last report of every cluster, if loaded.
    #[must_use]
    pub fn clusters(&self) -> Option<Arc<Clusters>> {
        self.clusters.load_full()
    }

    /// Returns the bot's history, if loaded.
    #[must_use]
    pub fn periods(&self) -> Option<Arc<Periods>> {
        self.periods.load_full()
    }

    /// Returns all notices, the latest first, if loaded.
    #[must_use]
    pub fn notices(&self) -> Option<Arc<Vec<Notice>>> {
        self.notices.load_full()
    }

    async fn load_team(&self) -> Result<(), StoreError> {
        let rendered = RenderedTeam::new(self.show_team.show().await?)?;
        self.team.store(Some(Arc::new(rendered)));
        Ok(())
    }

    async fn load_clusters(&self, batch: &ChangeBatch) -> Result<(), StoreError> {
        // Batches are delivered one at a time, so there is no other writer between load and store.
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
        if touches(Kind::Period) {
            let earlier = self.periods.load_full();
            self.periods.store(Some(Arc::new(self.report_status.periods(earlier.as_deref()).await?)));
        }
        if touches(Kind::Notice) {
            self.notices.store(Some(Arc::new(self.report_status.notices().await?)));
        }
        Ok(())
    }
}

impl MetricsSource for Projections {
    fn write(&self, text: &mut MetricsText) {
        let (feedback_entries, feedback_bytes) = self.feedback.memory();
        if let Some(clusters) = self.clusters.load().as_deref() {
            let health = self.report_status.health(clusters);
            for (state, count) in [("live", health.live), ("silent", health.silent.len())] {
                let help = "Clusters of the bot: live, or silent for too long to count.";
                text.gauge("companion_bot_clusters", help, &[("state", state)], count as f64);
            }
            let age = health.last_heard.map_or(f64::INFINITY, |age| age.as_secs_f64());
            let help = "Seconds since the last report of the bot; +Inf if there is none.";
            text.gauge("companion_bot_report_age_seconds", help, &[], age);
            for state in ShardState::ALL {
                let labels = [("state", state.as_str())];
                let count = health.count(state) as f64;
                text.gauge("companion_bot_shards", "Shards of the bot by state.", &labels, count);
            }
        }
        let team = self.team.load().as_ref().map_or(0, |team| team.body.len());
        for (name, help, value) in [
            ("companion_feedback_entries", "Positive feedback kept in memory.", feedback_entries),
            ("companion_feedback_bytes", "Memory of positive feedback, in bytes.", feedback_bytes),
            ("companion_team_bytes", "Memory of the rendered team, in bytes.", team),
        ] {
            text.gauge(name, help, &[], value as f64);
        }
    }
}

/// The team, its response body, and an entity tag derived from the body.
pub(crate) struct RenderedTeam {
    pub(crate) members: Arc<[TeamMember]>,
    pub(crate) body: Bytes,
    pub(crate) etag: HeaderValue,
}

impl RenderedTeam {
    /// Renders a team.
    pub(super) fn new(team: Vec<TeamMember>) -> Result<Self, StoreError> {
        let members: wire::ShownTeam<'_> = wire::Bounded(team.iter().map(wire::TeamMember::from).collect());
        let body =
            envelope::success("The team that maintains the bot.", members).map_err(StoreError::corrupt)?;
        let tag = format!("\"{}\"", URL_SAFE_NO_PAD.encode(Sha256::digest(&body)));
        let etag = HeaderValue::try_from(tag).map_err(StoreError::corrupt)?;
        Ok(Self { members: team.into(), body, etag })
    }

    /// Whether `If-None-Match` contains the tag. Weak tags match too, as RFC 9110 requires.
    pub(crate) fn is_known_to(&self, headers: &HeaderMap) -> bool {
        let lists = headers.get_all(header::IF_NONE_MATCH).filter_map(|value| value.to_str().ok());
        // The tag contains no comma, so splitting at commas finds it.
        let mut tags = lists.flat_map(|list| list.split(',')).map(str::trim);
        tags.any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag).as_bytes() == self.etag.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn knows(team: &RenderedTeam, sent: &[&str]) -> bool {
        let mut headers = HeaderMap::new();
        for value in sent {
            headers.append(header::IF_NONE_MATCH, HeaderValue::from_str(value).unwrap());
        }
        team.is_known_to(&headers)
    }

    #[test]
    fn matches_strong_and_weak_tags_in_lists() {
        let team = RenderedTeam::new(Vec::new()).unwrap();
        let tag = team.etag.to_str().unwrap();
        for known in [
            tag.to_owned(),
            format!("W/{tag}"),
            format!("\"a,b\", {tag}"),
            format!("\"x\",W/{tag} , \"y\""),
            "*".into(),
        ] {
            assert!(knows(&team, &[&known]), "{known}");
        }
        assert!(knows(&team, &["\"x\"", tag]));
        for unknown in ["", "\"x\"", "W/\"x\"", tag.trim_matches('"'), &tag.replace('"', "'")] {
            assert!(!knows(&team, &[unknown]), "{unknown}");
        }
        assert!(!knows(&team, &[]));
    }
}
