//! Wrong stores of the bot's data: single records, batches, and guilds with their members.

use crate::conformance::proof::{Spoilt, a_turn, faults, locked, matches_pattern, with};
use async_trait::async_trait;
use companion_domain::{
    change::{Applied, Key, Tally},
    model::{FeedbackId, GuildId, GuildWithRoles, Member, SubscribedGuilds, Timestamp, UserId},
    port::{ApplyError, GuildDirectory, Mutation, Record, Records, StoreError, Stores},
};
use companion_testkit::{
    conformance::Fresh,
    over::{GuildDirectoryOver, Over, RecordsOver},
};
use std::{
    collections::HashSet,
    sync::{Arc, Mutex},
};

faults! {
    fn proofs, enum Fault { Text(Spoilt) }
    records(wrong) {
        a_write_replaces_or_removes_one_record_and_returns_its_tally:
            UnchangedCounts "an unchanged put is counted as a change",
            EmptyTextIsLost "a rating without text is not found",
            IconCannotGo "an icon cannot be removed",
            GuildsAreSorted "the guilds of a subscription lose their order",
            RemoveOnAbsentFails "removing an absent record is an error",
            BlockStays "a block cannot be lifted";
        keys_are_separate_and_text_is_stored_exactly:
            IdsAreSigned "ids lose their highest bit",
            IdsIgnoreCase "ids are compared without case",
            RemovesByPattern "an underscore matches any character",
            [Fault::Text(Spoilt::Trimmed)] "text is trimmed",
            [Fault::Text(Spoilt::Composed)] "combining sequences are composed",
            [Fault::Text(Spoilt::Cut)] "text is truncated to 255 bytes",
            TimeInSeconds "times are stored in seconds",
            SubmitterShared "a user's entries share the newest name";
        concurrent_callers_add_and_remove_each_record_once:
            AddsUnseen "a put reads and writes in two steps";
        a_cancelled_write_is_complete_or_absent: BatchInSteps "a cancelled batch is partially applied";
        a_cancelled_put_is_complete_or_absent: PutsInSteps "a cancelled put has removed the old record";
        a_refused_batch_changes_nothing:
            BatchByMutation "a batch is applied up to the refused mutation",
            MembersWait "a member of an unknown guild is kept until the guild is put";
        a_batch_is_applied_in_order:
            RemovalsFirst "a batch removes before it puts",
            CountsTheLast "a batch returns the tally of its last mutation";
        removing_a_guild_removes_its_members:
            MembersSurvive "members outlive their guild",
            MembersGoWithEveryPut "a changed guild loses its members",
            HundredMembersGo "at most a hundred members are removed with their guild";
    }
    change_feed(wrong) {
        a_write_returns_and_lists_its_changes_once: TellsNoChange "a write returns no changes";
    }
    guild_directory(wrong) {
        returns_only_the_roles_of_the_user: RolesLeak "a user gets the roles of another";
        returns_known_guilds_once:
            SeenTwice "a guild requested twice is returned twice",
            SeenHundred "at most a hundred guilds are returned";
        guilds_are_read_from_one_snapshot: SeenInSteps "guilds are read in several snapshots";
    }
}

fn wrong(fault: Fault) -> Fresh<Stores> {
    with(|stores| {
        let over = Arc::new(Over(Wrong { stores: stores.clone(), fault, put: Mutex::default() }));
        stores.records = over.clone();
        stores.guilds = over;
    })
}

struct Wrong {
    stores: Stores,
    fault: Fault,
    /// Every record ever put, newest last.
    put: Mutex<Vec<Record>>,
}

fn signed(guild: GuildId) -> GuildId {
    GuildId::new((guild.get() << 1) >> 1).unwrap_or(guild)
}

fn lowercase(id: &FeedbackId) -> FeedbackId {
    id.as_str().to_lowercase().parse().unwrap_or_else(|_| id.clone())
}

impl Wrong {
    fn inner(&self) -> &dyn Records {
        &*self.stores.records
    }

    fn key(&self, key: Key) -> Key {
        match (self.fault, key) {
            (Fault::IdsAreSigned, Key::Guild(guild)) => Key::Guild(signed(guild)),
            (Fault::IdsIgnoreCase, Key::Feedback(id)) => Key::Feedback(lowercase(&id)),
            (_, key) => key,
        }
    }

    async fn earlier(&self, key: &Key) -> Result<Option<Record>, StoreError> {
        self.inner().find(key).await
    }

    /// Returns the members ever put into this guild, removed or not.
    fn members_of(&self, guild: GuildId) -> Vec<Member> {
        let all = locked(&self.put);
        let members = all.iter().filter_map(|record| match record {
            Record::Member(member) if member.guild == guild => Some(member.clone()),
            _ => None,
        });
        members.collect()
    }

    /// Returns the record as it is stored.
    async fn spoilt(&self, mut record: Record) -> Result<Record, StoreError> {
        let earlier = self.earlier(&self.key(record.key())).await?;
        match (self.fault, &mut record, earlier) {
            (Fault::IdsAreSigned, Record::Guild(guild), _) => guild.id = signed(guild.id),
            (Fault::Text(spoilt), Record::Guild(guild), _) => guild.name = spoilt.name(&guild.name),
            (Fault::Text(spoilt), Record::Feedback(entry), _) => entry.text = spoilt.prose(&entry.text),
            (Fault::IdsIgnoreCase, Record::Feedback(entry), _) => entry.id = lowercase(&entry.id),
            (Fault::TimeInSeconds, Record::Feedback(entry), _) => {
                entry.submitted_at =
                    Timestamp::from_seconds(entry.submitted_at.seconds()).map_err(StoreError::corrupt)?;
            }
            (Fault::IconCannotGo, Record::Guild(guild), Some(Record::Guild(earlier))) => {
                guild.icon = guild.icon.take().or(earlier.icon);
            }
            (Fault::GuildsAreSorted, Record::Subscription(subscription), _) => {
                let mut guilds = subscription.guilds.as_slice().to_vec();
                guilds.sort_unstable();
                subscription.guilds = SubscribedGuilds::new(guilds).map_err(StoreError::corrupt)?;
            }
            _ => {}
        }
        Ok(record)
    }

    /// Puts a record in two steps.
    async fn put_in_steps(&self, record: Record) -> Result<Applied, ApplyError> {
        match self.earlier(&record.key()).await? {
            Some(earlier) if earlier != record => {
                self.inner().remove(record.key()).await?;
                a_turn().await;
                let applied = self.inner().apply(vec![Mutation::Put(record)]).await?;
                Ok(Applied { tally: Tally::CHANGED, ..applied })
            }
            _ => self.inner().apply(vec![Mutation::Put(record)]).await,
        }
    }

    /// Applies one mutation after the other.
    async fn one_by_one(&self, batch: Vec<Mutation>) -> Result<Applied, ApplyError> {
        let mut all = Applied::default();
        for mutation in batch {
            let one = self.inner().apply(vec![mutation]).await?;
            all.tally += one.tally;
            all.changes.extend(one.changes);
            if self.fault == Fault::BatchInSteps {
                a_turn().await;
            }
        }
        Ok(all)
    }

    /// The side effect of a mutation.
    async fn beside(&self, mutation: &Mutation) -> Result<(), ApplyError> {
        match (self.fault, mutation) {
            (Fault::MembersGoWithEveryPut, Mutation::Put(Record::Guild(guild))) => {
                self.inner().remove(Key::Guild(guild.id)).await?;
            }
            (Fault::RemovesByPattern, Mutation::Remove(Key::Feedback(pattern))) => {
                let all = locked(&self.put).clone();
                for record in all {
                    if let Record::Feedback(entry) = record
                        && entry.id != *pattern
                        && matches_pattern(entry.id.as_str(), pattern.as_str())
                    {
                        self.inner().remove(Key::Feedback(entry.id)).await?;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Restores members that should have been removed with their guild.
    async fn bring_back(&self, guild: GuildId) -> Result<(), ApplyError> {
        let members = self.members_of(guild);
        let gone = if self.fault == Fault::HundredMembersGo { members.len().min(100) } else { 0 };
        for member in members.into_iter().skip(gone) {
            self.inner().put(Record::Member(member)).await?;
        }
        Ok(())
    }
}

#[async_trait]
impl RecordsOver for Wrong {
    fn records(&self) -> &dyn Records {
        self.inner()
    }

    async fn apply(&self, mut batch: Vec<Mutation>) -> Result<Applied, ApplyError> {
        for mutation in &batch {
            self.beside(mutation).await?;
            if let Mutation::Put(record) = mutation {
                locked(&self.put).push(record.clone());
            }
        }
        let mut spoilt = Vec::with_capacity(batch.len());
        for mutation in batch {
            spoilt.push(match mutation {
                Mutation::Put(record) => Mutation::Put(self.spoilt(record).await?),
                Mutation::Remove(key) => Mutation::Remove(self.key(key)),
                other => other,
            });
        }
        batch = spoilt;
        match (self.fault, &mut batch[..]) {
            (Fault::BatchByMutation | Fault::BatchInSteps, _) => return self.one_by_one(batch).await,
            (Fault::RemovalsFirst, mutations) => {
                mutations.sort_by_key(|mutation| matches!(mutation, Mutation::Put(_)));
            }
            (Fault::BlockStays, [Mutation::Remove(key @ Key::Blocked(_))]) => {
                let there = self.earlier(key).await?.is_some();
                return Ok(Applied {
                    tally: if there { Tally::REMOVED } else { Tally::NOTHING },
                    changes: vec![],
                });
            }
            (Fault::PutsInSteps, [Mutation::Put(record)]) => {
                return self.put_in_steps(record.clone()).await;
            }
            (Fault::AddsUnseen, [Mutation::Put(record)]) => {
                let there = self.earlier(&record.key()).await?.is_some();
                a_turn().await;
                let applied = self.inner().apply(batch).await?;
                return Ok(if there { applied } else { Applied { tally: Tally::ADDED, ..applied } });
            }
            (Fault::MembersWait, [.., Mutation::Put(Record::Member(member))])
                if self.earlier(&Key::Guild(member.guild)).await?.is_none() =>
            {
                return Ok(Applied { tally: Tally::ADDED, changes: vec![] });
            }
            _ => {}
        }
        let (last, guilds) = (batch.last().cloned(), guilds_put(&batch));
        let removes = matches!(batch[..], [Mutation::Remove(_)]);
        let applied = self.inner().apply(batch).await?;
        if matches!(self.fault, Fault::MembersSurvive | Fault::HundredMembersGo) {
            for guild in guilds {
                self.bring_back(guild).await?;
            }
        }
        let tally = match (self.fault, applied.tally) {
            (Fault::UnchangedCounts, Tally::NOTHING) if !removes => Tally::CHANGED,
            (Fault::RemoveOnAbsentFails, Tally::NOTHING) if removes => {
                return Err(StoreError::conflict("there is no such record").into());
            }
            (Fault::CountsTheLast, _) if last.is_some() => Tally::ADDED,
            (_, tally) => tally,
        };
        let changes = if self.fault == Fault::TellsNoChange { vec![] } else { applied.changes };
        Ok(Applied { tally, changes })
    }

    async fn find(&self, key: &Key) -> Result<Option<Record>, StoreError> {
        let found = self.inner().find(&self.key(key.clone())).await?;
        Ok(match (self.fault, found) {
            (Fault::EmptyTextIsLost, Some(Record::Feedback(entry))) if entry.text.as_str().is_empty() => None,
            (Fault::SubmitterShared, Some(Record::Feedback(mut entry))) => {
                let all = locked(&self.put);
                let newest = all.iter().rev().find_map(|record| match record {
                    Record::Feedback(one) if one.submitter.id == entry.submitter.id => Some(&one.submitter),
                    _ => None,
                });
                entry.submitter = newest.cloned().unwrap_or_else(|| entry.submitter.clone());
                Some(Record::Feedback(entry))
            }
            (_, found) => found,
        })
    }
}

fn guilds_put(batch: &[Mutation]) -> Vec<GuildId> {
    let guild = |mutation: &Mutation| match mutation {
        Mutation::Put(Record::Guild(guild)) => Some(guild.id),
        _ => None,
    };
    batch.iter().filter_map(guild).collect()
}

#[async_trait]
impl GuildDirectoryOver for Wrong {
    fn guilds(&self) -> &dyn GuildDirectory {
        &*self.stores.guilds
    }

    async fn with_roles(&self, user: UserId, guilds: &[GuildId]) -> Result<Vec<GuildWithRoles>, StoreError> {
        let inner = self.guilds();
        let mut seen = Vec::new();
        match self.fault {
            Fault::RolesLeak => {
                let first = locked(&self.put).iter().find_map(|record| match record {
                    Record::Member(member) => Some(member.user),
                    _ => None,
                });
                return inner.with_roles(first.unwrap_or(user), guilds).await;
            }
            Fault::SeenTwice => {
                for guild in guilds {
                    seen.extend(inner.with_roles(user, &[*guild]).await?);
                }
            }
            Fault::SeenInSteps => {
                let mut asked = HashSet::new();
                for guild in guilds.iter().filter(|guild| asked.insert(**guild)) {
                    let read = async || inner.with_roles(user, &[*guild]).await;
                    let members =
                        |seen: &[GuildWithRoles]| seen.iter().map(|seen| seen.guild.members.get()).max();
                    let first = read().await?;
                    // After two further writes, the next guild is newer than this one.
                    for _ in 0..1000 {
                        if members(&read().await?) > members(&first).map(|members| members + 1) {
                            break;
                        }
                        a_turn().await;
                    }
                    seen.extend(first);
                }
            }
            _ => {
                seen = inner.with_roles(user, guilds).await?;
                if self.fault == Fault::SeenHundred {
                    seen.truncate(100);
                }
            }
        }
        Ok(seen)
    }
}
