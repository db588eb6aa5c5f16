//! Wrong stores of public data: feedback, the team, and reports of clusters.

use crate::conformance::proof::{a_turn, faults, locked, with};
use async_trait::async_trait;
use companion_domain::{
    change::{Applied, Key, Tally},
    model::{
        ClusterId, Feedback, FeedbackId, Heartbeat, Number, Roster, Shard, Shards, TeamMember, Timestamp,
    },
    port::{ApplyError, BotTelemetry, Entropy, FeedbackStore, Mutation, Record, Records, StoreError, Stores},
    rules::Seed,
};
use companion_testkit::{
    conformance::Fresh,
    entropy::SeededEntropy,
    over::{BotTelemetryOver, FeedbackStoreOver, Over, RecordsOver},
};
use std::{
    collections::HashSet,
    num::NonZeroU32,
    sync::{Arc, Mutex},
};
use tokio::sync::Barrier;

faults! {
    fn proofs, enum Fault {}
    feedback_store(wrong) {
        every_choice_and_order_is_equally_likely:
            Biased "one entry is picked a fifth too often (a biased pick)",
            Sorted "a pick has a fixed order";
        a_pick_has_the_requested_number_of_distinct_entries_by_its_seed:
            Repeats "an entry is picked twice",
            OwnChance "the adapter ignores the seed";
        picks_are_right_during_concurrent_writes: Holes "removed entries leave gaps in the index";
        a_rating_change_moves_an_entry_in_and_out_of_picks:
            ThreeStars "three stars are picked",
            RatingStays "a changed rating is not stored";
        picks_from_very_many_entries:
            PicksHundred "a pick has at most a hundred entries";
        pages_contain_every_positive_entry_once_by_id:
            PagesGoByTheAlphabet "ids are compared without case";
        a_page_starts_after_an_id_whatever_has_changed:
            PagesRepeatTheirEdge "a page repeats the last entry of the previous one",
            PagesByNumber "pages use offsets, and entries move between them";
    }
    team_roster(wrong) {
        each_replacement_is_shown_and_returns_its_tally:
            AddsOnly "omitted members stay",
            CountsEverything "an unchanged team is counted as changed",
            OneCategoryEach "a user has only one membership";
        concurrent_replacements_leave_one_complete_team: NotAtomic "the old team is removed before the new one is written";
    }
    bot_telemetry(wrong) {
        the_last_report_to_arrive_replaces_the_earlier_one:
            LateIsDropped "a report with an earlier date is dropped",
            ShardsStay "a shard that is no longer reported is kept";
        removes_a_silent_cluster_unless_it_has_reported_since:
            ForgetsTheLiving "a cluster that has reported since is removed";
        reports_are_stored_exactly:
            FractionsOnly "integers become floating point";
        lists_and_removes_very_many_clusters:
            ClustersHundred "at most a hundred clusters are listed",
            ForgetsHundred "at most a hundred clusters are removed";
    }
    records(wrong) {
        a_cancelled_write_is_complete_or_absent:
            RecordsInSteps "a cancelled report has lost its shards";
    }
}

fn wrong(fault: Fault) -> Fresh<Stores> {
    with(|stores| {
        let over = Arc::new(Over(Wrong {
            inner: stores.clone(),
            fault,
            chance: SeededEntropy::new(99),
            three_stars: Mutex::default(),
            hidden: Mutex::default(),
            read: Mutex::default(),
            removed: Barrier::new(32),
        }));
        stores.records = over.clone();
        stores.feedback = over.clone();
        stores.telemetry = over;
    })
}

struct Wrong {
    inner: Stores,
    fault: Fault,
    chance: SeededEntropy,
    three_stars: Mutex<Vec<Arc<Feedback>>>,
    hidden: Mutex<HashSet<FeedbackId>>,
    read: Mutex<usize>,
    /// All callers have removed the team before any writes one.
    removed: Barrier,
}

#[async_trait]
impl FeedbackStoreOver for Wrong {
    fn feedback(&self) -> &dyn FeedbackStore {
        &*self.inner.feedback
    }

    async fn pick_positive(&self, count: usize, seed: Seed) -> Result<Vec<Arc<Feedback>>, StoreError> {
        let mut picked = match self.fault {
            Fault::OwnChance => self.inner.feedback.pick_positive(count, self.chance.seed()).await?,
            Fault::PicksHundred => self.inner.feedback.pick_positive(count.min(100), seed).await?,
            Fault::Repeats => {
                let mut picked = Vec::new();
                for _ in 0..count.min(100) {
                    picked.extend(self.inner.feedback.pick_positive(1, seed).await?);
                }
                picked
            }
            _ => self.inner.feedback.pick_positive(count, seed).await?,
        };
        match self.fault {
            // Two fifths of the picks without the favourite are drawn again, so it occurs a fifth too often.
            Fault::Biased if !picked.iter().any(|entry| entry.id.as_str() == "e") => {
                let mut die = [0];
                self.chance.fill(&mut die);
                if die < [102] {
                    picked = self.inner.feedback.pick_positive(count, self.chance.seed()).await?;
                }
            }
            Fault::Sorted => picked.sort_by(|one, two| one.id.cmp(&two.id)),
            Fault::ThreeStars => picked.extend(locked(&self.three_stars).iter().cloned()),
            Fault::Holes => picked.retain(|entry| !locked(&self.hidden).contains(&entry.id)),
            _ => {}
        }
        Ok(picked)
    }

    async fn positive_after(
        &self,
        after: Option<&FeedbackId>,
        most: NonZeroU32,
    ) -> Result<Vec<Arc<Feedback>>, StoreError> {
        let all = self.inner.feedback.positive_after(None, NonZeroU32::MAX).await?;
        let most = most.get() as usize;
        let beyond = |entry: &Arc<Feedback>| after.is_none_or(|after| entry.id > *after);
        Ok(match self.fault {
            Fault::PagesGoByTheAlphabet => {
                let key = |id: &FeedbackId| id.as_str().to_lowercase();
                let mut all = all;
                all.sort_by_key(|entry| key(&entry.id));
                let beyond = |entry: &Arc<Feedback>| after.is_none_or(|after| key(&entry.id) > key(after));
                all.into_iter().filter(beyond).take(most).collect()
            }
            Fault::PagesRepeatTheirEdge => {
                let from = |entry: &Arc<Feedback>| after.is_none_or(|after| entry.id >= *after);
                all.into_iter().filter(from).take(most).collect()
            }
            Fault::PagesByNumber => {
                // Counts by what was read before, whatever has changed since.
                let mut read = locked(&self.read);
                let page: Vec<_> = all.into_iter().skip(after.map_or(0, |_| *read)).take(most).collect();
                *read = after.map_or(0, |_| *read) + page.len();
                page
            }
            _ => all.into_iter().filter(beyond).take(most).collect(),
        })
    }
}

#[async_trait]
impl RecordsOver for Wrong {
    fn records(&self) -> &dyn Records {
        &*self.inner.records
    }

    async fn apply(&self, batch: Vec<Mutation>) -> Result<Applied, ApplyError> {
        let mut tally = Tally::NOTHING;
        for mutation in batch {
            tally += match mutation {
                Mutation::Put(Record::Feedback(entry)) => self.put_feedback(entry).await?,
                Mutation::Remove(Key::Feedback(id)) if self.fault == Fault::Holes => {
                    if locked(&self.hidden).insert(id) { Tally::REMOVED } else { Tally::NOTHING }
                }
                Mutation::ReplaceTeam(roster) => self.replace_team(&roster).await?,
                Mutation::Report(report) => self.record(report).await?,
                Mutation::RemoveSilent(silent) => self.forget_silent(silent).await?,
                other => self.write(other).await?,
            };
        }
        Ok(Applied { tally, changes: vec![] })
    }
}

impl Wrong {
    async fn write(&self, mutation: Mutation) -> Result<Tally, ApplyError> {
        self.inner.records.write(mutation).await
    }

    async fn put_feedback(&self, mut entry: Feedback) -> Result<Tally, ApplyError> {
        if entry.rating.stars() == 3 {
            locked(&self.three_stars).push(Arc::new(entry.clone()));
        }
        locked(&self.hidden).remove(&entry.id);
        let earlier = self.inner.feedback.find(&entry.id).await?;
        if let (Fault::RatingStays, Some(earlier)) = (self.fault, earlier) {
            entry.rating = earlier.rating;
        }
        self.write(Mutation::Put(Record::Feedback(entry))).await
    }

    async fn put_team(&self, members: Vec<TeamMember>) -> Result<Tally, ApplyError> {
        let roster = Roster::new(members).map_err(|(_, invalid)| StoreError::corrupt(invalid))?;
        self.write(Mutation::ReplaceTeam(roster)).await
    }

    async fn replace_team(&self, roster: &Roster) -> Result<Tally, ApplyError> {
        let mut members = roster.as_slice().to_vec();
        match self.fault {
            Fault::AddsOnly => {
                let earlier = self.inner.team.all().await?;
                let stays = |one: &&TeamMember| !roster.as_slice().iter().any(|new| new.key() == one.key());
                members.extend(earlier.iter().filter(stays).cloned());
            }
            Fault::CountsEverything => {
                let count = members.len() as u64;
                let tally = self.put_team(members).await?;
                return Ok(if tally == Tally::NOTHING { Tally { changed: count, ..tally } } else { tally });
            }
            Fault::OneCategoryEach => {
                let mut users = HashSet::new();
                members.retain(|member| users.insert(member.user.id));
            }
            Fault::NotAtomic => {
                let removed = self.put_team(vec![]).await?.removed;
                self.removed.wait().await;
                // Concurrent puts stay, because each member is written separately.
                let others = self.inner.team.all().await?;
                let keys: Vec<_> = members.iter().map(|member| member.user.id).collect();
                members.extend(others.iter().filter(|other| !keys.contains(&other.user.id)).cloned());
                let tally = self.put_team(members).await?;
                return Ok(Tally { removed: removed + tally.removed, ..tally });
            }
            _ => {}
        }
        self.put_team(members).await
    }

    async fn earlier(&self, heartbeat: &Heartbeat) -> Result<Option<Arc<Heartbeat>>, StoreError> {
        let clusters = self.inner.telemetry.clusters().await?;
        Ok(clusters.into_iter().find(|report| report.cluster == heartbeat.cluster))
    }

    async fn record(&self, mut heartbeat: Heartbeat) -> Result<Tally, ApplyError> {
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
            _ => {}
        }
        self.write(Mutation::Report(heartbeat)).await
    }

    async fn forget_silent(&self, mut silent: Vec<(ClusterId, Timestamp)>) -> Result<Tally, ApplyError> {
        if self.fault == Fault::ForgetsTheLiving {
            let clusters = self.inner.telemetry.clusters().await?;
            for (cluster, heard) in &mut silent {
                let last = clusters.iter().find(|report| report.cluster == *cluster);
                *heard = last.map_or(*heard, |report| report.received_at);
            }
        }
        if self.fault == Fault::ForgetsHundred {
            silent.truncate(100);
        }
        self.write(Mutation::RemoveSilent(silent)).await
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
