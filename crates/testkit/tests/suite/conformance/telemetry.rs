//! Wrong keepers of what clusters report.

use crate::conformance::{
    proof::{Proof, Workshop, a_turn, memory},
    text::matches_pattern,
};
use async_trait::async_trait;
use companion_domain::{
    change::Tally,
    model::{ClusterId, Heartbeat, Number, Shard, Shards, Timestamp},
    port::{BotTelemetry, StoreError},
};
use companion_storage_memory::MemoryStorage;
use companion_testkit::conformance::{Fresh, bot_telemetry::SUITE};
use std::sync::Arc;

#[derive(Clone, Copy)]
enum Fault {
    LateIsDropped,
    ForgetsTheLiving,
    FractionsOnly,
    ShardsStay,
    ClustersHundred,
    ForgetsHundred,
    RecordsInSteps,
    ForgetsInSteps,
    ForgetsByPattern,
    ShardsHundred,
}

pub(crate) fn proofs() -> Vec<Proof> {
    use Fault as F;
    let workshop = Workshop {
        suite: "bot_telemetry",
        behaviours: SUITE,
        sound: || Fresh::new(memory()),
        wrong: |fault| Fresh::new(Arc::new(Wrong { inner: memory(), fault })),
    };
    workshop.proofs(&[
        (
            F::LateIsDropped,
            "a report with an earlier date is dropped",
            "the_last_report_to_arrive_stays_whatever_its_date",
        ),
        (
            F::ForgetsTheLiving,
            "a cluster that has reported since is forgotten",
            "a_cluster_is_forgotten_unless_it_has_reported_since",
        ),
        (F::FractionsOnly, "whole numbers become fractions", "a_report_is_kept_to_the_last_digit"),
        (
            F::ShardsStay,
            "a shard that is no longer reported stays",
            "a_report_takes_the_place_of_the_earlier_one",
        ),
        (
            F::ClustersHundred,
            "a hundred clusters are listed at most",
            "very_many_clusters_are_listed_and_forgotten",
        ),
        (
            F::ForgetsHundred,
            "a hundred clusters are forgotten at most",
            "very_many_clusters_are_listed_and_forgotten",
        ),
        (
            F::RecordsInSteps,
            "a report that is given up has lost its shards",
            "a_write_that_is_given_up_is_made_whole_or_not_at_all",
        ),
        (
            F::ForgetsInSteps,
            "forgetting that is given up has forgotten some",
            "a_write_that_is_given_up_is_made_whole_or_not_at_all",
        ),
        (
            F::ForgetsByPattern,
            "an underscore stands for any character",
            "a_cluster_is_forgotten_by_its_whole_name",
        ),
        (F::ShardsHundred, "a report has a hundred shards at most", "a_report_is_kept_to_the_last_digit"),
    ])
}

struct Wrong {
    inner: Arc<MemoryStorage>,
    fault: Fault,
}

impl Wrong {
    async fn earlier(&self, heartbeat: &Heartbeat) -> Result<Option<Arc<Heartbeat>>, StoreError> {
        let clusters = self.inner.clusters().await?;
        Ok(clusters.into_iter().find(|report| report.cluster == heartbeat.cluster))
    }
}

#[async_trait]
impl BotTelemetry for Wrong {
    async fn record(&self, heartbeat: &Heartbeat) -> Result<Tally, StoreError> {
        let mut heartbeat = heartbeat.clone();
        match self.fault {
            Fault::LateIsDropped => {
                let earlier = self.earlier(&heartbeat).await?;
                if earlier.is_some_and(|earlier| earlier.received_at > heartbeat.received_at) {
                    return Ok(Tally::NOTHING);
                }
            }
            Fault::FractionsOnly => {
                let float = |number: Number| Number::fraction(number.as_f64()).unwrap_or(number);
                let shard = |shard: Shard| Shard {
                    heartbeat_sent: float(shard.heartbeat_sent),
                    heartbeat_acknowledged: float(shard.heartbeat_acknowledged),
                    latency: float(shard.latency),
                };
                let shards = heartbeat.shards.iter().map(|(id, one)| (id, shard(one))).collect();
                heartbeat.shards = Shards::new(shards).map_err(StoreError::corrupt)?;
            }
            Fault::ShardsStay => {
                if let Some(earlier) = self.earlier(&heartbeat).await? {
                    let both = earlier.shards.iter().chain(heartbeat.shards.iter()).collect();
                    heartbeat.shards = Shards::new(both).map_err(StoreError::corrupt)?;
                }
            }
            Fault::RecordsInSteps => {
                if let Some(earlier) = self.earlier(&heartbeat).await?
                    && *earlier != heartbeat
                {
                    let shards = Shards::new([].into()).map_err(StoreError::corrupt)?;
                    self.inner.record(&Heartbeat { shards, ..heartbeat.clone() }).await?;
                    a_turn().await;
                    self.inner.record(&heartbeat).await?;
                    return Ok(Tally::CHANGED);
                }
            }
            Fault::ShardsHundred => {
                let shards = heartbeat.shards.iter().take(100).collect();
                heartbeat.shards = Shards::new(shards).map_err(StoreError::corrupt)?;
            }
            _ => {}
        }
        self.inner.record(&heartbeat).await
    }

    async fn clusters(&self) -> Result<Vec<Arc<Heartbeat>>, StoreError> {
        let mut clusters = self.inner.clusters().await?;
        if let Fault::ClustersHundred = self.fault {
            clusters.truncate(100);
        }
        Ok(clusters)
    }

    async fn forget_silent(&self, silent: &[(ClusterId, Timestamp)]) -> Result<Tally, StoreError> {
        let mut silent = silent.to_vec();
        if let Fault::ForgetsTheLiving = self.fault {
            let clusters = self.inner.clusters().await?;
            for (cluster, heard) in &mut silent {
                let last = clusters.iter().find(|report| report.cluster == *cluster);
                *heard = last.map_or(*heard, |report| report.received_at);
            }
        }
        match self.fault {
            Fault::ForgetsHundred => silent.truncate(100),
            Fault::ForgetsInSteps => {
                let mut tally = Tally::NOTHING;
                for one in &silent {
                    tally += self.inner.forget_silent(std::slice::from_ref(one)).await?;
                    a_turn().await;
                }
                return Ok(tally);
            }
            Fault::ForgetsByPattern => {
                let clusters = self.inner.clusters().await?;
                let mut tally = Tally::NOTHING;
                for (pattern, heard) in silent {
                    for report in &clusters {
                        if matches_pattern(report.cluster.as_str(), pattern.as_str()) {
                            tally += self.inner.forget_silent(&[(report.cluster.clone(), heard)]).await?;
                        }
                    }
                }
                return Ok(tally);
            }
            _ => {}
        }
        self.inner.forget_silent(&silent).await
    }
}
