//! Wrong stores of bulk data: streams, exports, and the data of a user.

use crate::conformance::proof::{Spoilt, a_turn, faults, with};
use async_trait::async_trait;
use companion_domain::{
    change::{Applied, Key, Kind, Tally},
    model::{Member, UserId},
    port::{
        Health, Mutation, Numbered, Record, RecordSink, RecordSource, Records, Replace, StoreError, Stores,
        SyncError,
    },
};
use companion_testkit::{
    conformance::{
        Fresh,
        stream::{Collected, Stream},
    },
    over::{Over, RecordsOver},
};
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

faults! {
    fn proofs, enum Fault { BatchByBatch }
    records(wrong) {
        a_failed_stream_changes_nothing:
            [Fault::BatchByBatch] "a sync is applied batch by batch (not atomic)",
            LinesRecounted "lines are counted by the store";
        readers_and_writers_proceed_during_a_sync:
            [Fault::BatchByBatch] "a sync is visible before it is complete",
            UnfitWhileBusy "a busy store is unhealthy",
            AskingIsAChange "a health check is listed as a change";
        a_shard_replaces_only_its_own_guilds: ShardForgotten "a shard replaces the guilds of others";
        the_last_record_of_a_key_wins_and_the_tally_is_exact: FirstWins "the first record of a key counts";
        a_sync_adds_every_kind_in_any_order: GuildsFirst "a member must follow its guild";
        each_kind_is_replaced_alone:
            NothingTakenAway "replacing removes nothing",
            TooMuchReplaced "kinds that are not replaced are removed too";
        an_export_recreates_the_store:
            ExportLosesTheLastBatch "an export loses its last batch",
            ExportBackwards "members are exported before their guilds",
            ExportTwice "an export contains records twice",
            ExportsHundredMembers "an export has at most a hundred members",
            TrimsText "a sync trims text";
        an_export_reads_one_snapshot: ExportInTwoMoments "an export reads two snapshots";
        a_failing_sink_fails_the_export: ExportHidesFailure "a failed export reports success";
        about_returns_what_forget_removes:
            TellsNoFeedback "feedback of a user is not returned",
            TellsOthers "data of other users is returned",
            ForgetLeavesFeedback "forgetting keeps feedback",
            ForgetUnblocks "forgetting removes a block",
            ForgetTakesOthers "forgetting removes the data of another user",
            TellsTenMemberships "at most ten memberships are returned",
            ForgetsTenSessions "at most ten sessions are forgotten";
        about_reads_one_snapshot: TellsInTwoMoments "kinds are read in several snapshots";
        a_cancelled_write_is_complete_or_absent:
            [Fault::BatchByBatch] "a cancelled sync is partially applied",
            ForgetsInSteps "a cancelled removal is partially applied";
        replaces_very_many_records: TakesAwayHundred "a replacement removes at most a hundred records";
    }
}

fn wrong(fault: Fault) -> Fresh<Stores> {
    let syncs = Arc::<AtomicUsize>::default();
    with(|stores| {
        let wrong = || Wrong { stores: stores.clone(), fault, syncs: Arc::clone(&syncs) };
        let (records, health) = (Over(wrong()), wrong());
        stores.records = Arc::new(records);
        stores.health = Arc::new(health);
    })
}

struct Wrong {
    stores: Stores,
    fault: Fault,
    /// Number of syncs that have begun.
    syncs: Arc<AtomicUsize>,
}

#[async_trait]
impl Health for Wrong {
    async fn check(&self) -> Result<(), StoreError> {
        if self.fault == Fault::UnfitWhileBusy && self.syncs.load(Ordering::SeqCst) > 0 {
            return Err(StoreError::unavailable("a sync goes on"));
        }
        if self.fault == Fault::AskingIsAChange {
            let user = UserId::new(4711).map_err(StoreError::corrupt)?;
            self.changed(Mutation::Put(Record::Blocked(user))).await?;
            self.changed(Mutation::Remove(Key::Blocked(user))).await?;
        }
        self.stores.health.check().await
    }
}

impl Wrong {
    async fn bring(&self, replace: &Replace, records: Vec<Numbered>) -> Result<Tally, SyncError> {
        let lines = records.into_iter().map(|Numbered { line, record }| (line, record));
        let brought = self.stores.records.sync(replace, &mut Stream::numbered(lines, 500)).await;
        brought.map(|applied| applied.tally)
    }

    async fn collect(&self) -> Result<Vec<Record>, SyncError> {
        let mut collected = Collected::default();
        self.stores.records.export(&mut collected).await?;
        Ok(collected.0)
    }

    /// Returns what is stored about a user, without the first few of one kind.
    async fn of_user(&self, user: UserId, kind: Kind, but: usize) -> Result<Vec<Numbered>, StoreError> {
        let theirs = self.stores.records.about(user).await?.into_iter().filter(|one| one.kind() == kind);
        Ok(theirs.skip(but).map(|record| Numbered { line: 1, record }).collect())
    }

    async fn changed(&self, mutation: Mutation) -> Result<(), StoreError> {
        self.stores.records.write(mutation).await.map(drop).map_err(StoreError::unavailable)
    }

    async fn sync_all(&self, replace: &Replace, source: &mut dyn RecordSource) -> Result<Tally, SyncError> {
        let mut replace = replace.clone();
        self.syncs.fetch_add(1, Ordering::SeqCst);
        match self.fault {
            Fault::BatchByBatch => {
                let mut tally = self.bring(&replace, vec![]).await?;
                while let Some(batch) = source.next().await.map_err(SyncError::Source)? {
                    tally += self.bring(&Replace::default(), batch).await?;
                }
                return Ok(tally);
            }
            Fault::ShardForgotten => replace.shard = None,
            Fault::NothingTakenAway => replace.kinds.clear(),
            Fault::TooMuchReplaced if !replace.kinds.is_empty() => {
                replace.kinds.insert(Kind::Feedback);
            }
            _ => {}
        }
        let mut records = read(source).await?;
        match self.fault {
            Fault::TrimsText => {
                for numbered in &mut records {
                    match &mut numbered.record {
                        Record::Guild(guild) => guild.name = Spoilt::Trimmed.name(&guild.name),
                        Record::Feedback(entry) => entry.text = Spoilt::Trimmed.prose(&entry.text),
                        Record::Team(member) => member.role = Spoilt::Trimmed.name(&member.role),
                        _ => {}
                    }
                }
            }
            Fault::TakesAwayHundred => {
                let before = self.collect().await?;
                let mut tally = self.bring(&replace, records).await?;
                let after = self.collect().await?;
                let gone = before.into_iter().filter(|record| match record {
                    Record::Blocked(_) | Record::Feedback(_) => !after.contains(record),
                    _ => false,
                });
                let gone: Vec<_> = gone.skip(100).map(|record| Numbered { line: 1, record }).collect();
                tally.removed -= gone.len() as u64;
                self.bring(&Replace::default(), gone).await?;
                return Ok(tally);
            }
            Fault::FirstWins => records.reverse(),
            Fault::LinesRecounted => {
                for (line, record) in (1..).zip(&mut records) {
                    record.line = line;
                }
            }
            Fault::GuildsFirst => {
                let mut known = Vec::new();
                for Numbered { line, record } in &records {
                    if let Record::Guild(guild) = record {
                        known.push(guild.id);
                    } else if let Record::Member(Member { guild, .. }) = record
                        && !known.contains(guild)
                        && self.stores.records.find(&Key::Guild(*guild)).await?.is_none()
                    {
                        return Err(SyncError::UnknownGuild { line: *line, guild: *guild });
                    }
                }
            }
            _ => {}
        }
        self.bring(&replace, records).await
    }
}

#[async_trait]
impl RecordsOver for Wrong {
    fn records(&self) -> &dyn Records {
        &*self.stores.records
    }

    async fn sync(&self, replace: &Replace, source: &mut dyn RecordSource) -> Result<Applied, SyncError> {
        Ok(Applied { tally: self.sync_all(replace, source).await?, changes: vec![] })
    }

    async fn export(&self, sink: &mut dyn RecordSink) -> Result<(), SyncError> {
        let mut records = self.collect().await?;
        match self.fault {
            Fault::ExportBackwards => records.reverse(),
            Fault::ExportsHundredMembers => keep(&mut records, Kind::Member, 100),
            Fault::ExportTwice => records.extend(records.clone()),
            _ => {}
        }
        let batches: Vec<_> = records.chunks(400).map(<[Record]>::to_vec).collect();
        let count = batches.len();
        for (number, batch) in batches.into_iter().enumerate() {
            let last = number + 1 == count;
            let batch = match self.fault {
                Fault::ExportLosesTheLastBatch if last && count > 1 => break,
                Fault::ExportInTwoMoments if number > 0 => {
                    let rest = self.collect().await?.split_off(400.min(self.collect().await?.len()));
                    sink.take(rest).await.map_err(SyncError::Sink)?;
                    break;
                }
                _ => batch,
            };
            match sink.take(batch).await {
                Err(_) if self.fault == Fault::ExportHidesFailure => return Ok(()),
                taken => taken.map_err(SyncError::Sink)?,
            }
        }
        Ok(())
    }

    async fn about(&self, user: UserId) -> Result<Vec<Record>, StoreError> {
        let mut told = self.stores.records.about(user).await?;
        match self.fault {
            Fault::TellsNoFeedback => keep(&mut told, Kind::Feedback, 0),
            Fault::TellsOthers => {
                told = self.collect().await.map_err(StoreError::unavailable)?;
                told.retain(|record| !matches!(record, Record::Guild(_) | Record::Blocked(_)));
            }
            Fault::TellsTenMemberships => keep(&mut told, Kind::Member, 10),
            Fault::TellsInTwoMoments => {
                // Waits until something has changed in between.
                let before = self.stores.changes.latest().await?;
                while self.stores.changes.latest().await? == before {
                    a_turn().await;
                }
                let later = self.stores.records.about(user).await?;
                told.retain(|record| record.kind() == Kind::Member);
                told.extend(later.into_iter().filter(|record| record.kind() != Kind::Member));
            }
            _ => {}
        }
        Ok(told)
    }

    async fn forget(&self, user: UserId) -> Result<Applied, StoreError> {
        let survivors = match self.fault {
            Fault::ForgetLeavesFeedback => self.of_user(user, Kind::Feedback, 0).await?,
            Fault::ForgetsTenSessions => self.of_user(user, Kind::Session, 10).await?,
            _ => vec![],
        };
        let mut tally = Tally::NOTHING;
        if self.fault == Fault::ForgetsInSteps {
            tally.removed += self.stores.sessions.revoke_user(user).await?.len() as u64;
            a_turn().await;
        }
        tally += self.stores.records.forget(user).await?.tally;
        self.bring(&Replace::default(), survivors).await.map_err(StoreError::unavailable)?;
        match self.fault {
            Fault::ForgetUnblocks => self.changed(Mutation::Remove(Key::Blocked(user))).await?,
            Fault::ForgetTakesOthers => {
                let neighbour = UserId::new(user.get() + 1).map_err(StoreError::corrupt)?;
                self.changed(Mutation::Remove(Key::Staff(neighbour))).await?;
            }
            _ => {}
        }
        Ok(Applied { tally, changes: vec![] })
    }
}

/// Keeps the first `most` of a kind, and all others.
fn keep(records: &mut Vec<Record>, kind: Kind, most: usize) {
    let mut seen = 0;
    records.retain(|record| {
        seen += usize::from(record.kind() == kind);
        record.kind() != kind || seen <= most
    });
}

async fn read(source: &mut dyn RecordSource) -> Result<Vec<Numbered>, SyncError> {
    let mut records = Vec::new();
    while let Some(batch) = source.next().await.map_err(SyncError::Source)? {
        records.extend(batch);
    }
    Ok(records)
}
