//! Wrong change feeds, writers that list too much, wrong readers of listings, and wrong stores of sessions with their
//! grants.

use crate::conformance::proof::{a_turn, a_while, faults, locked, with};
use async_trait::async_trait;
use companion_domain::{
    change::{Applied, Change, Changes, Key, Kind, Revision, Subject},
    model::UserId,
    port::{
        ApplyError, ChangeFeed, Grant, GrantContent, GrantVersion, Listing, ListingScope, Listings, Mutation,
        Record, Records, SignIns, StoreError, Stores,
    },
    session::{Cutoffs, Session},
};
use companion_testkit::{
    conformance::{
        Fresh,
        prepared::{add_sessions, granted},
    },
    over::{ChangeFeedOver, Over, RecordsOver},
    world::{guild_id, user_id},
};
use std::{
    collections::{HashMap, HashSet},
    num::NonZeroU32,
    sync::{Arc, Mutex},
};

faults! {
    fn feed_proofs, enum FeedFault { SessionsMissed }
    change_feed(wrong_feed) {
        a_write_returns_and_lists_its_changes_once:
            TeamMissed "a change of the team is not listed (a missed change)",
            OneBehind "the newest change is listed late",
            NoChangeIsTold "an unchanged write is listed";
        lists_changes_of_grants: TakenGrantsMissed "changes of grants are not listed";
        changes_are_listed_once_in_order_from_any_known_revision:
            ToldTwice "a change is listed twice",
            NewestFirst "changes are listed newest first",
            StartsOverAtThePlace "the change at the position is listed again",
            NeverAGap "an unknown revision is no gap",
            GapAtZero "a gap leads to the wrong revision";
        a_follower_of_many_writers_misses_no_change: SkipsUnfinished "a reader is moved past unfinished changes";
        lists_very_many_changes: HundredAtATime "at most a hundred changes are listed";
        a_cancelled_write_is_listed_if_it_was_applied: ToldAfterwards "a change is listed in a second step";
    }
}

fn wrong_feed(fault: FeedFault) -> Fresh<Stores> {
    with(|stores| {
        let (inner, finished, untold) = (stores.clone(), Mutex::default(), Mutex::default());
        let over = Arc::new(Over(WrongFeed { inner, fault, finished, untold }));
        stores.records = over.clone();
        stores.changes = over;
    })
}

struct WrongFeed {
    inner: Stores,
    fault: FeedFault,
    /// Revisions that were read once.
    finished: Mutex<HashSet<Revision>>,
    /// Users whose change is not listed yet.
    untold: Mutex<HashSet<UserId>>,
}

impl WrongFeed {
    /// Every tenth write is slow: its first reader does not see it yet.
    fn is_finished(&self, revision: Revision) -> bool {
        let mut finished = locked(&self.finished);
        !finished.insert(revision) || !revision.0.is_multiple_of(10)
    }
}

#[async_trait]
impl ChangeFeedOver for WrongFeed {
    fn changes(&self) -> &dyn ChangeFeed {
        &*self.inner.changes
    }

    async fn since(&self, revision: Revision) -> Result<Changes, StoreError> {
        let asked = match self.fault {
            FeedFault::StartsOverAtThePlace => Revision(revision.0.saturating_sub(1)),
            _ => revision,
        };
        let mut changes = match (self.fault, self.changes().since(asked).await?) {
            (FeedFault::NeverAGap, Changes::Gap(_)) => vec![],
            (FeedFault::GapAtZero, Changes::Gap(_)) => return Ok(Changes::Gap(Revision::default())),
            (_, gap @ Changes::Gap(_)) => return Ok(gap),
            (_, Changes::Listed(changes)) => changes,
        };
        match self.fault {
            FeedFault::TeamMissed => changes.retain(|change| change.subject.kind() != Kind::Team),
            FeedFault::TakenGrantsMissed => changes.retain(|change| change.subject.kind() != Kind::Grant),
            FeedFault::SessionsMissed => changes.retain(|change| change.subject.kind() != Kind::Session),
            FeedFault::ToldTwice => {
                changes = changes.into_iter().flat_map(|change| [change.clone(), change]).collect();
            }
            FeedFault::HundredAtATime => changes.truncate(100),
            FeedFault::NewestFirst => changes.reverse(),
            FeedFault::OneBehind => drop(changes.pop()),
            FeedFault::ToldAfterwards => {
                let untold = locked(&self.untold);
                let is_untold = |change: &Change| matches!(&change.subject, Subject::Blocked(user) if untold.contains(user));
                changes.truncate(changes.iter().take_while(|change| !is_untold(change)).count());
            }
            FeedFault::SkipsUnfinished => changes.retain(|change| self.is_finished(change.revision)),
            _ => {}
        }
        Ok(Changes::Listed(changes))
    }
}

#[async_trait]
impl RecordsOver for WrongFeed {
    fn records(&self) -> &dyn Records {
        &*self.inner.records
    }

    async fn apply(&self, batch: Vec<Mutation>) -> Result<Applied, ApplyError> {
        let ([Mutation::Put(Record::Blocked(user))] | [Mutation::Remove(Key::Blocked(user))]) = batch[..]
        else {
            return self.records().apply(batch).await;
        };
        if self.fault == FeedFault::NoChangeIsTold && matches!(batch[..], [Mutation::Put(_)]) {
            self.records().remove(Key::Blocked(user)).await?;
        }
        locked(&self.untold).insert(user);
        let applied = self.records().apply(batch).await?;
        a_turn().await;
        locked(&self.untold).remove(&user);
        Ok(applied)
    }
}

faults! {
    fn listing_proofs, enum ListingFault {}
    listings(wrong_listing) {
        writes_are_never_partially_visible: InSteps "the parts are read in several snapshots";
        reads_a_long_list_completely_and_each_guild_once:
            FirstPage "only the first page of a long list is read",
            Twice "a guild listed twice is read twice";
        leaves_out_data_of_other_users:
            RolesOfAnyUser "roles of another user are shown",
            EveryGuild "without a list every guild is read";
        reads_one_guild_whether_listed_or_not:
            ListDecides "a guild outside of the list is not found",
            NamingWithBotOnly "subscriptions of a guild without the bot are not found";
        every_part_of_a_listing_is_fresh:
            OwnSubscriptionOnly "only the user's own subscription makes guilds premium",
            NoBlock "a block is not read",
            NoStaff "staff permissions are not read",
            CachedForEver "the first listing stays cached";
    }
}

fn wrong_listing(fault: ListingFault) -> Fresh<Stores> {
    with(|stores| {
        let parts = stores.clone();
        stores.stored_listings = Arc::new(WrongListings { parts, fault, first: Mutex::default() });
    })
}

struct WrongListings {
    parts: Stores,
    fault: ListingFault,
    /// The first listing of each user.
    first: Mutex<HashMap<UserId, Listing>>,
}

impl WrongListings {
    /// Waits until another writer has written, if there is one.
    async fn wait_for_a_write(&self) -> Result<(), StoreError> {
        let before = self.parts.changes.latest().await?;
        for _ in 0..10_000 {
            if self.parts.changes.latest().await? != before {
                break;
            }
            tokio::task::yield_now().await;
        }
        Ok(())
    }
}

#[async_trait]
impl Listings for WrongListings {
    async fn read(&self, user: UserId, asked: ListingScope) -> Result<Arc<Listing>, StoreError> {
        let mut listing = Arc::unwrap_or_clone(self.parts.listings().read(user, asked).await?);
        match self.fault {
            ListingFault::InSteps => {
                self.wait_for_a_write().await?;
                listing.blocked = self.parts.blocked.is_blocked(user).await?;
            }
            ListingFault::CachedForEver if asked == ListingScope::List => {
                locked(&self.first).entry(user).or_insert(listing.clone());
            }
            ListingFault::FirstPage => listing.guilds.truncate(100),
            ListingFault::Twice => listing.guilds.extend(listing.guilds.first().cloned()),
            ListingFault::RolesOfAnyUser => {
                for seen in &mut listing.guilds {
                    let others = self.parts.guilds.with_roles(user_id(2), &[seen.guild.id]).await?;
                    seen.roles = others.into_iter().next().map(|other| other.roles).unwrap_or_default();
                }
            }
            ListingFault::OwnSubscriptionOnly => {
                listing.guild_subscriptions.retain(|subscription| subscription.user == user);
            }
            ListingFault::ListDecides => {
                let listed = ListingScope::List.guilds(listing.grant.as_ref());
                listing.guilds.retain(|seen| listed.contains(&seen.guild.id));
            }
            ListingFault::NoBlock => listing.blocked = false,
            ListingFault::NoStaff => listing.staff = [].into_iter().collect(),
            ListingFault::EveryGuild if asked == ListingScope::List && listing.guilds.is_empty() => {
                let guilds: Vec<_> = (1..10).map(guild_id).collect();
                listing.guilds = self.parts.guilds.with_roles(user, &guilds).await?;
            }
            ListingFault::NamingWithBotOnly if listing.guilds.is_empty() => {
                listing.guild_subscriptions.clear();
            }
            _ => {}
        }
        Ok(Arc::new(listing))
    }

    fn cached(&self, user: UserId) -> Option<Arc<Listing>> {
        let first = locked(&self.first).get(&user).cloned();
        if self.fault == ListingFault::CachedForEver { first.map(Arc::new) } else { None }
    }
}

faults! {
    fn sign_in_proofs, enum SignInFault { SessionFirst }
    sign_ins(wrong_sign_in) {
        a_sign_in_writes_the_session_and_replaces_the_grant:
            SessionOnly "the grant is not written",
            GrantKept "an earlier grant is kept",
            ClaimKept "a claim survives a new sign-in";
        a_cancelled_write_leaves_both_or_neither:
            [SignInFault::SessionFirst] "a sign-in can be cancelled between the session and the grant",
            EndsInSteps "a cancelled end leaves sessions without a grant",
            EndsOneByOne "sessions without a grant end one by one";
        readers_never_see_a_session_without_its_grant:
            [SignInFault::SessionFirst] "the session is visible before its grant",
            GrantFirst "the grant is visible before its session";
        an_existing_id_is_a_conflict_and_writes_neither: ConflictWritesGrant "a refused sign-in replaces the grant";
        ends_only_the_current_version_of_a_grant: EndsAnyVersion "a newer sign-in ends with the old grant";
        ends_only_sessions_without_a_grant: EndsTheGranted "sessions that have a grant are ended";
        concurrent_ends_return_each_session_once: EndedTwice "two callers get the same ended session";
        very_many_sessions_end_with_their_grant: EndsTen "at most ten sessions end with their grant";
        lists_every_begin_and_end: Unaudited "a new session is not listed";
    }
}

fn wrong_sign_in(fault: SignInFault) -> Fresh<Stores> {
    if fault == SignInFault::Unaudited {
        return wrong_feed(FeedFault::SessionsMissed);
    }
    with(|stores| {
        let (inner, turn) = (stores.clone(), tokio::sync::Mutex::default());
        stores.sign_ins = Arc::new(WrongSignIns { inner, fault, turn });
    })
}

struct WrongSignIns {
    inner: Stores,
    fault: SignInFault,
    turn: tokio::sync::Mutex<()>,
}

#[async_trait]
impl SignIns for WrongSignIns {
    async fn begin(
        &self,
        session: &Session,
        cap: NonZeroU32,
        ended: Cutoffs,
        grant: &GrantContent,
    ) -> Result<Vec<Session>, StoreError> {
        let earlier = self.inner.grants.find(session.user).await?;
        let begin = self.inner.sign_ins.begin(session, cap, ended, grant);
        match self.fault {
            SignInFault::GrantKept if earlier.is_none() => begin.await,
            SignInFault::SessionOnly | SignInFault::GrantKept => {
                add_sessions(&self.inner, [session.clone()]).await;
                Ok(Vec::new())
            }
            SignInFault::SessionFirst => {
                add_sessions(&self.inner, [session.clone()]).await;
                a_while().await;
                self.inner.sessions.revoke(&session.id).await?;
                begin.await
            }
            SignInFault::GrantFirst => {
                granted(&self.inner, session.user, grant).await;
                a_while().await;
                begin.await
            }
            SignInFault::ConflictWritesGrant => {
                let begun = begin.await;
                if begun.is_err() {
                    granted(&self.inner, session.user, grant).await;
                }
                begun
            }
            SignInFault::ClaimKept => {
                let begun = begin.await?;
                if let Some(Grant { version, .. }) = self.inner.grants.find(session.user).await?
                    && earlier.is_some()
                {
                    self.inner.grants.claim_refresh(session.user, version, session.created_at, None).await?;
                }
                Ok(begun)
            }
            SignInFault::EndsInSteps => {
                let _turn = self.turn.lock().await;
                begin.await
            }
            _ => begin.await,
        }
    }

    async fn end(&self, user: UserId, version: GrantVersion) -> Result<Option<Vec<Session>>, StoreError> {
        let Stores { sessions, sign_ins, grants, .. } = &self.inner;
        match self.fault {
            SignInFault::EndsAnyVersion => {
                let current = grants.find(user).await?.map_or(version, |grant| grant.version);
                sign_ins.end(user, current).await
            }
            SignInFault::EndsTen => {
                let Some(mut ended) = sign_ins.end(user, version).await? else { return Ok(None) };
                let left = ended.split_off(ended.len().min(10));
                add_sessions(&self.inner, left).await;
                Ok(Some(ended))
            }
            SignInFault::EndsInSteps => {
                let _turn = self.turn.lock().await;
                let Some(ended) = sign_ins.end(user, version).await? else { return Ok(None) };
                add_sessions(&self.inner, ended).await;
                a_turn().await;
                sessions.revoke_user(user).await.map(Some)
            }
            SignInFault::EndedTwice => {
                let sessions = sessions.of_user(user).await?;
                a_while().await;
                sign_ins.end(user, version).await?;
                Ok(Some(sessions))
            }
            _ => sign_ins.end(user, version).await,
        }
    }

    async fn end_without_grant(&self, user: UserId) -> Result<Option<Vec<Session>>, StoreError> {
        match self.fault {
            SignInFault::EndsOneByOne if self.inner.grants.find(user).await?.is_none() => {
                let mut ended = Vec::new();
                for session in self.inner.sessions.of_user(user).await? {
                    ended.extend(self.inner.sessions.revoke(&session.id).await?);
                    a_turn().await;
                }
                Ok(Some(ended))
            }
            SignInFault::EndsTheGranted => self.inner.sessions.revoke_user(user).await.map(Some),
            _ => self.inner.sign_ins.end_without_grant(user).await,
        }
    }
}
