//! Wrong stores of public data: feedback, the team, and reports of clusters.

use crate::conformance::proof::{a_turn, a_while, faults, locked, with};
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

faults! {
    fn feedback_proofs, enum FeedbackFault {}
    feedback_store(wrong_feedback) {
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
}

fn wrong_feedback(fault: FeedbackFault) -> Fresh<Stores> {
    with(|stores| {
        let over = Arc::new(Over(WrongFeedback {
            inner: stores.clone(),
            fault,
            chance: SeededEntropy::new(99),
            three_stars: Mutex::default(),
            hidden: Mutex::default(),
            read: Mutex::default(),
        }));
        stores.records = over.clone();
        stores.feedback = over;
    })
}

struct WrongFeedback {
    inner: Stores,
    fault: FeedbackFault,
    chance: SeededEntropy,
    three_stars: Mutex<Vec<Arc<Feedback>>>,
    hidden: Mutex<HashSet<FeedbackId>>,
    read: Mutex<usize>,
}

#[async_trait]
impl FeedbackStoreOver for WrongFeedback {
    fn feedback(&self) -> &dyn FeedbackStore {
        &*self.inner.feedback
    }

    async fn pick_positive(&self, count: usize, seed: Seed) -> Result<Vec<Arc<Feedback>>, StoreError> {
        let mut picked = match self.fault {
            FeedbackFault::OwnChance => self.inner.feedback.pick_positive(count, self.chance.seed()).await?,
            FeedbackFault::PicksHundred => self.inner.feedback.pick_positive(count.min(100), seed).await?,
            FeedbackFault::Repeats => {
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
            FeedbackFault::Biased if !picked.iter().any(|entry| entry.id.as_str() == "e") => {
                let mut die = [0];
                self.chance.fill(&mut die);
                if die < [102] {
                    picked = self.inner.feedback.pick_positive(count, self.chance.seed()).await?;
                }
            }
            FeedbackFault::Sorted => picked.sort_by(|one, two| one.id.cmp(&two.id)),
            FeedbackFault::ThreeStars => picked.extend(locked(&self.three_stars).iter().cloned()),
            FeedbackFault::Holes => picked.retain(|entry| !locked(&self.hidden).contains(&entry.id)),
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
            FeedbackFault::PagesGoByTheAlphabet => {
                let key = |id: &FeedbackId| id.as_str().to_lowercase();
                let mut all = all;
                all.sort_by_key(|entry| key(&entry.id));
                let beyond = |entry: &Arc<Feedback>| after.is_none_or(|after| key(&entry.id) > key(after));
                all.into_iter().filter(beyond).take(most).collect()
            }
            FeedbackFault::PagesRepeatTheirEdge => {
                let from = |entry: &Arc<Feedback>| after.is_none_or(|after| entry.id >= *after);
                all.into_iter().filter(from).take(most).collect()
            }
            FeedbackFault::PagesByNumber => {
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
impl RecordsOver for WrongFeedback {
    fn records(&self) -> &dyn Records {
        &*self.inner.records
    }

    async fn apply(&self, mut batch: Vec<Mutation>) -> Result<Applied, ApplyError> {
        for mutation in &mut batch {
            match mutation {
                Mutation::Put(Record::Feedback(entry)) => {
                    if entry.rating.stars() == 3 {
                        locked(&self.three_stars).push(Arc::new(entry.clone()));
                    }
                    locked(&self.hidden).remove(&entry.id);
                    let earlier = self.inner.feedback.find(&entry.id).await?;
                    if let (FeedbackFault::RatingStays, Some(earlier)) = (self.fault, earlier) {
                        entry.rating = earlier.rating;
                    }
                }
                Mutation::Remove(Key::Feedback(id)) => {
                    if let FeedbackFault::Holes = self.fault {
                        let gone = locked(&self.hidden).insert(id.clone());
                        let tally = if gone { Tally::REMOVED } else { Tally::NOTHING };
                        return Ok(Applied { tally, changes: vec![] });
                    }
                }
                _ => {}
            }
        }
        self.records().apply(batch).await
    }
}

faults! {
    fn team_proofs, enum TeamFault {}
    team_roster(wrong_team) {
        each_replacement_is_shown_and_returns_its_tally:
            AddsOnly "omitted members stay",
            CountsEverything "an unchanged team is counted as changed",
            OneCategoryEach "a user has only one membership";
        concurrent_replacements_leave_one_complete_team: NotAtomic "the old team is removed before the new one is written";
    }
}

fn wrong_team(fault: TeamFault) -> Fresh<Stores> {
    with(|stores| {
        stores.records = Arc::new(Over(WrongTeam { inner: stores.clone(), fault }));
    })
}

struct WrongTeam {
    inner: Stores,
    fault: TeamFault,
}

impl WrongTeam {
    async fn put(&self, members: Vec<TeamMember>) -> Result<Tally, ApplyError> {
        let roster = Roster::new(members).map_err(|(_, invalid)| StoreError::corrupt(invalid))?;
        self.inner.records.write(Mutation::ReplaceTeam(roster)).await
    }

    async fn replace(&self, roster: &Roster) -> Result<Tally, ApplyError> {
        let mut members = roster.as_slice().to_vec();
        match self.fault {
            TeamFault::AddsOnly => {
                let earlier = self.inner.team.all().await?;
                let stays = |one: &&TeamMember| !roster.as_slice().iter().any(|new| new.key() == one.key());
                members.extend(earlier.iter().filter(stays).cloned());
            }
            TeamFault::CountsEverything => {
                let count = members.len() as u64;
                let tally = self.put(members).await?;
                return Ok(if tally == Tally::NOTHING { Tally { changed: count, ..tally } } else { tally });
            }
            TeamFault::OneCategoryEach => {
                let mut users = HashSet::new();
                members.retain(|member| users.insert(member.user.id));
            }
            TeamFault::NotAtomic => {
                let removed = self.put(vec![]).await?.removed;
                a_while().await;
                // Concurrent puts stay, because each member is written separately.
                let others = self.inner.team.all().await?;
                let keys: Vec<_> = members.iter().map(|member| member.user.id).collect();
                members.extend(others.iter().filter(|other| !keys.contains(&other.user.id)).cloned());
                let tally = self.put(members).await?;
                return Ok(Tally { removed: removed + tally.removed, ..tally });
            }
        }
        self.put(members).await
    }
}

#[async_trait]
impl RecordsOver for WrongTeam {
    fn records(&self) -> &dyn Records {
        &*self.inner.records
    }

    async fn apply(&self, batch: Vec<Mutation>) -> Result<Applied, ApplyError> {
        match &batch[..] {
            [Mutation::ReplaceTeam(roster)] => {
                Ok(Applied { tally: self.replace(roster).await?, changes: vec![] })
            }
            _ => self.records().apply(batch).await,
        }
    }
}

faults! {
    fn telemetry_proofs, enum TelemetryFault {}
    bot_telemetry(wrong_telemetry) {
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
    records(wrong_telemetry) {
        a_cancelled_write_is_complete_or_absent:
            RecordsInSteps "a cancelled report has lost its shards";
    }
}

fn wrong_telemetry(fault: TelemetryFault) -> Fresh<Stores> {
    with(|stores| {
        let over = Arc::new(Over(WrongTelemetry { inner: stores.clone(), fault }));
        stores.records = over.clone();
        stores.telemetry = over;
    })
}

struct WrongTelemetry {
    inner: Stores,
    fault: TelemetryFault,
}

impl WrongTelemetry {
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
            TelemetryFault::LateIsDropped => {
                let earlier = self.earlier(&heartbeat).await?;
                if earlier.is_some_and(|earlier| earlier.received_at > heartbeat.received_at) {
                    return Ok(Tally::NOTHING);
                }
            }
            TelemetryFault::FractionsOnly => {
                let float = |number: Number| Number::fraction(number.as_f64()).unwrap_or(number);
                let shard = |shard: Shard| Shard {
                    heartbeat_sent: float(shard.heartbeat_sent),
                    heartbeat_acknowledged: float(shard.heartbeat_acknowledged),
                    latency: float(shard.latency),
                };
                let shards = heartbeat.shards.iter().map(|(id, one)| (id, shard(one))).collect();
                heartbeat.shards = Shards::new(shards).map_err(StoreError::corrupt)?;
            }
            TelemetryFault::ShardsStay => {
                if let Some(earlier) = self.earlier(&heartbeat).await? {
                    let both = earlier.shards.iter().chain(heartbeat.shards.iter()).collect();
                    heartbeat.shards = Shards::new(both).map_err(StoreError::corrupt)?;
                }
            }
            TelemetryFault::RecordsInSteps => {
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

    async fn forget_silent(&self, silent: &[(ClusterId, Timestamp)]) -> Result<Tally, ApplyError> {
        let mut silent = silent.to_vec();
        if let TelemetryFault::ForgetsTheLiving = self.fault {
            let clusters = self.inner.telemetry.clusters().await?;
            for (cluster, heard) in &mut silent {
                let last = clusters.iter().find(|report| report.cluster == *cluster);
                *heard = last.map_or(*heard, |report| report.received_at);
            }
        }
        if self.fault == TelemetryFault::ForgetsHundred {
            silent.truncate(100);
        }
        self.write(Mutation::RemoveSilent(silent)).await
    }
}

#[async_trait]
impl RecordsOver for WrongTelemetry {
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
impl BotTelemetryOver for WrongTelemetry {
    fn telemetry(&self) -> &dyn BotTelemetry {
        &*self.inner.telemetry
    }

    async fn clusters(&self) -> Result<Vec<Arc<Heartbeat>>, StoreError> {
        let mut clusters = self.inner.telemetry.clusters().await?;
        if let TelemetryFault::ClustersHundred = self.fault {
            clusters.truncate(100);
        }
        Ok(clusters)
    }
}
