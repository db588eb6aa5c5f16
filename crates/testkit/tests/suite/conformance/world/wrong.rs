//! The store in memory with one of the faults.

use super::{
    Fault,
    records::{Collected, Held, read},
};
use crate::conformance::proof::a_turn;
use async_trait::async_trait;
use companion_domain::{
    change::{Applied, Key, Kind, Tally},
    model::UserId,
    port::{
        Health, Mutation, Numbered, Record, RecordSink, RecordSource, Records, Replace, StoreError, SyncError,
    },
};
use companion_testkit::{conformance::Stores, over::RecordsOver};
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

pub(super) struct Wrong {
    pub(super) stores: Stores,
    pub(super) fault: Fault,
    /// How many have begun.
    pub(super) syncs: Arc<AtomicUsize>,
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
        let brought = self.stores.records.sync(replace, &mut Held([records].into())).await;
        brought.map(|applied| applied.tally)
    }

    async fn collect(&self) -> Result<Vec<Record>, SyncError> {
        let mut collected = Collected::default();
        self.stores.records.export(&mut collected).await?;
        Ok(collected.0)
    }

    /// What there is of a user of one kind, but for the first few.
    async fn of_user(&self, user: UserId, kind: Kind, but: usize) -> Result<Vec<Numbered>, StoreError> {
        let all = self.collect().await.map_err(StoreError::unavailable)?;
        let theirs = |record: &Record| {
            record.kind() == kind
                && match record {
                    Record::Feedback(feedback) => feedback.submitter.id == user,
                    Record::Session(session) => session.user == user,
                    Record::Member(member) => member.user == user,
                    _ => false,
                }
        };
        let numbered = |record| Numbered { line: 1, record };
        Ok(all.into_iter().filter(theirs).skip(but).map(numbered).collect())
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
            Fault::KindByKind => {
                let of_guilds = |one: &Numbered| matches!(one.record, Record::Guild(_) | Record::Member(_));
                let (first, second): (Vec<_>, Vec<_>) = records.into_iter().partition(of_guilds);
                let guilds = |kind: &Kind| matches!(kind, Kind::Guild | Kind::Member);
                let (mut one, mut two) = (replace.clone(), replace.clone());
                one.kinds.retain(guilds);
                two.kinds.retain(|kind| !guilds(kind));
                let mut tally = self.bring(&one, first).await?;
                a_turn().await;
                tally += self.bring(&two, second).await?;
                return Ok(tally);
            }
            Fault::Text(spoilt) => {
                for numbered in &mut records {
                    match &mut numbered.record {
                        Record::Guild(guild) => guild.name = spoilt.name(&guild.name),
                        Record::Feedback(feedback) => feedback.text = spoilt.prose(&feedback.text),
                        Record::Team(member) => member.role = spoilt.name(&member.role),
                        _ => {}
                    }
                }
            }
            Fault::IdsIgnoreCase => {
                for numbered in &mut records {
                    if let Record::Feedback(feedback) = &mut numbered.record {
                        feedback.id =
                            feedback.id.as_str().to_lowercase().parse().map_err(StoreError::corrupt)?;
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
                for place in 0..records.len() {
                    // Each prefix must stand on its own; one that does not is refused with nothing applied.
                    let mut known = Vec::new();
                    for numbered in records.iter().take(place + 1) {
                        match &numbered.record {
                            Record::Guild(guild) => known.push(guild.id),
                            Record::Member(member)
                                if !known.contains(&member.guild)
                                    && self
                                        .stores
                                        .records
                                        .find(&Key::Guild(member.guild))
                                        .await?
                                        .is_none() =>
                            {
                                return Err(SyncError::UnknownGuild {
                                    line: numbered.line,
                                    guild: member.guild,
                                });
                            }
                            _ => {}
                        }
                    }
                }
            }
            Fault::UnknownGuildSkipped => {
                while let Err(SyncError::UnknownGuild { line, .. }) =
                    self.bring(&replace, records.clone()).await
                {
                    records.retain(|numbered| numbered.line != line);
                }
                return Ok(Tally::NOTHING);
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
            Fault::ExportsHundredOf(kind) => {
                let mut left = 100;
                records.retain(|record| {
                    let same = record.kind() == kind;
                    left -= i32::from(same);
                    !same || left >= 0
                });
            }
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
            Fault::TellsNoFeedback => told.retain(|record| record.kind() != Kind::Feedback),
            Fault::TellsABlock if self.stores.blocked.is_blocked(user).await? => {
                told.push(Record::Blocked(user));
            }
            Fault::TellsOthers => {
                told = self.collect().await.map_err(StoreError::unavailable)?;
                told.retain(|record| !matches!(record, Record::Guild(_) | Record::Blocked(_)));
            }
            Fault::TellsTenMemberships => {
                let mut left = 10;
                told.retain(|record| {
                    let member = record.kind() == Kind::Member;
                    left -= i32::from(member);
                    !member || left >= 0
                });
            }
            Fault::TellsInTwoMoments => {
                // Until something has changed in between, as it would sooner or later.
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
            Fault::ForgetLeavesSessions => self.of_user(user, Kind::Session, 0).await?,
            Fault::ForgetsTenSessions => self.of_user(user, Kind::Session, 10).await?,
            Fault::ForgetsTenEntries => self.of_user(user, Kind::Feedback, 10).await?,
            Fault::ForgetsTenMemberships => self.of_user(user, Kind::Member, 10).await?,
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
