//! Wrong keepers of what clusters report.

use crate::conformance::proof::{a_turn, faults, matches_pattern, stores, with};
use async_trait::async_trait;
use companion_domain::{
    change::{Applied, Tally},
    model::{ClusterId, Heartbeat, Number, Shard, Shards, Timestamp},
    port::{ApplyError, BotTelemetry, Mutation, Records, StoreError, Stores},
};
use companion_testkit::{
    conformance::Fresh,
    over::{BotTelemetryOver, Over, RecordsOver},
};
use std::sync::Arc;

faults! {
    enum Fault {}
    bot_telemetry(Fresh::new(Arc::new(stores())), wrong) {
        the_last_report_to_arrive_stays_whatever_its_date: LateIsDropped "a report with an earlier date is dropped";
        a_cluster_is_forgotten_unless_it_has_reported_since:
            ForgetsTheLiving "a cluster that has reported since is forgotten";
        a_report_is_kept_to_the_last_digit:
            FractionsOnly "whole numbers become fractions",
            ShardsHundred "a report has a hundred shards at most";
        a_report_takes_the_place_of_the_earlier_one: ShardsStay "a shard that is no longer reported stays";
        very_many_clusters_are_listed_and_forgotten:
            ClustersHundred "a hundred clusters are listed at most",
            ForgetsHundred "a hundred clusters are forgotten at most";
        a_write_that_is_given_up_is_made_whole_or_not_at_all:
            RecordsInSteps "a report that is given up has lost its shards",
            ForgetsInSteps "forgetting that is given up has forgotten some";
        a_cluster_is_forgotten_by_its_whole_name: ForgetsByPattern "an underscore stands for any character";
    }
}

fn wrong(fault: Fault) -> Fresh<Stores> {
    with(|stores| {
        let over = Arc::new(Over(Wrong { inner: stores.clone(), fault }));
        stores.records = over.clone();
        stores.telemetry = over;
    })
}

struct Wrong {
    inner: Stores,
    fault: Fault,
}

impl Wrong {
    async fn earlier(&self, heartbeat: &Heartbeat) -> Result<Option<Arc<Heartbeat>>, StoreError> {
        let clusters = self.inner.telemetry.clusters().await?;
        Ok(clusters.into_iter().find(|report| report.cluster == heartbeat.cluster))
    }

    async fn write(&self, mutation: Mutation) -> Result<Tally, ApplyError> {
        self.inner.records.write(mutation).await
    }

    async fn record(&self, heartbeat: &Heartbeat) -> Result<Tally, ApplyError> {
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
                    self.write(Mutation::Report(Heartbeat { shards, ..heartbeat.clone() })).await?;
                    a_turn().await;
                    self.write(Mutation::Report(heartbeat)).await?;
                    return Ok(Tally::CHANGED);
                }
            }
            Fault::ShardsHundred => {
                let shards = heartbeat.shards.iter().take(100).collect();
                heartbeat.shards = Shards::new(shards).map_err(StoreError::corrupt)?;
            }
            _ => {}
        }
        self.write(Mutation::Report(heartbeat)).await
    }

    async fn forget_silent(&self, silent: &[(ClusterId, Timestamp)]) -> Result<Tally, ApplyError> {
        let mut silent = silent.to_vec();
        if let Fault::ForgetsTheLiving = self.fault {
            let clusters = self.inner.telemetry.clusters().await?;
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
                    tally += self.write(Mutation::RemoveSilent(vec![one.clone()])).await?;
                    a_turn().await;
                }
                return Ok(tally);
            }
            Fault::ForgetsByPattern => {
                let clusters = self.inner.telemetry.clusters().await?;
                let mut tally = Tally::NOTHING;
                for (pattern, heard) in silent {
                    for report in &clusters {
                        if matches_pattern(report.cluster.as_str(), pattern.as_str()) {
                            tally += self
                                .write(Mutation::RemoveSilent(vec![(report.cluster.clone(), heard)]))
                                .await?;
                        }
                    }
                }
                return Ok(tally);
            }
            _ => {}
        }
        self.write(Mutation::RemoveSilent(silent)).await
    }
}

#[async_trait]
impl RecordsOver for Wrong {
    fn records(&self) -> &dyn Records {
        &*self.inner.records
    }

    async fn apply(&self, batch: Vec<Mutation>) -> Result<Applied, ApplyError> {
        let mut tally = Tally::NOTHING;
        for mutation in &batch {
            tally += match mutation {
                Mutation::Report(report) => self.record(report).await?,
                Mutation::RemoveSilent(silent) => self.forget_silent(silent).await?,
                other => self.write(other.clone()).await?,
            };
        }
        Ok(Applied { tally, changes: vec![] })
    }
}

#[async_trait]
impl BotTelemetryOver for Wrong {
    fn telemetry(&self) -> &dyn BotTelemetry {
        &*self.inner.telemetry
    }

    async fn clusters(&self) -> Result<Vec<Arc<Heartbeat>>, StoreError> {
        let mut clusters = self.inner.telemetry.clusters().await?;
        if let Fault::ClustersHundred = self.fault {
            clusters.truncate(100);
        }
        Ok(clusters)
    }
}
