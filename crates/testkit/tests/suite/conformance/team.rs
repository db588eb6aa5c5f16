//! Wrong team rosters.

use crate::conformance::proof::{Spoilt, a_turn, a_while, faults, locked, stores, with};
use async_trait::async_trait;
use companion_domain::{
    change::{Applied, Tally},
    model::{Roster, TeamMember},
    port::{ApplyError, Mutation, Records, StoreError, Stores, TeamRoster},
};
use companion_testkit::{
    conformance::Fresh,
    over::{Over, RecordsOver, TeamRosterOver},
};
use std::sync::{Arc, Mutex};

faults! {
    enum Fault { Text(Spoilt) }
    team_roster(Fresh::new(Arc::new(stores())), wrong) {
        a_replacement_replaces_the_whole_team: AddsOnly "whoever is left out stays";
        another_order_is_the_same_team: CountsEverything "a team that stays the same counts as changed";
        a_place_is_known_by_user_and_category: OneCategoryEach "a user has one place only";
        every_reader_sees_a_team_that_was_answered_for: ReadsOnce "the team is read once and for all";
        of_replacements_at_once_one_whole_team_stays: NotAtomic "the old team goes before the new one comes";
        a_member_is_shown_as_put: ColoursInCapitals "colours change their letters";
        text_is_kept_to_the_character:
            [Fault::Text(Spoilt::Trimmed)] "names are trimmed",
            [Fault::Text(Spoilt::Composed)] "accents are put together with their letters",
            [Fault::Text(Spoilt::Stripped)] "control characters are dropped",
            [Fault::Text(Spoilt::Collapsed)] "two blanks become one",
            [Fault::Text(Spoilt::Cut)] "names are cut at 255 bytes";
        each_place_keeps_its_user_as_it_was_put: UserShared "a user's places share one name";
        a_replacement_that_is_given_up_is_made_whole_or_not_at_all:
            ReplacesInSteps "a replacement that is given up has emptied the team";
    }
}

fn wrong(fault: Fault) -> Fresh<Stores> {
    with(|stores| {
        let over = Arc::new(Over(Wrong {
            inner: stores.clone(),
            fault,
            first: Mutex::default(),
            turn: tokio::sync::Mutex::default(),
        }));
        stores.records = over.clone();
        stores.team = over;
    })
}

struct Wrong {
    inner: Stores,
    fault: Fault,
    first: Mutex<Option<Arc<[TeamMember]>>>,
    turn: tokio::sync::Mutex<()>,
}

impl Wrong {
    async fn put(&self, members: Vec<TeamMember>) -> Result<Tally, ApplyError> {
        let roster = Roster::new(members).map_err(|(_, invalid)| StoreError::corrupt(invalid))?;
        self.inner.records.write(Mutation::ReplaceTeam(roster)).await
    }

    async fn replace(&self, roster: &Roster) -> Result<Tally, ApplyError> {
        let mut members = roster.as_slice().to_vec();
        match self.fault {
            Fault::AddsOnly => {
                let earlier = self.inner.team.all().await?;
                let stays = |one: &&TeamMember| !roster.as_slice().iter().any(|new| new.key() == one.key());
                members.extend(earlier.iter().filter(stays).cloned());
            }
            Fault::CountsEverything => {
                let count = members.len() as u64;
                let tally = self.put(members).await?;
                return Ok(if tally == Tally::NOTHING { Tally { changed: count, ..tally } } else { tally });
            }
            Fault::OneCategoryEach => {
                let mut users = std::collections::HashSet::new();
                members.retain(|member| users.insert(member.user.id));
            }
            Fault::NotAtomic => {
                let removed = self.put(vec![]).await?.removed;
                a_while().await;
                // Whatever others put meanwhile stays: each is written for itself.
                let others = self.inner.team.all().await?;
                let keys: Vec<_> = members.iter().map(|member| member.user.id).collect();
                members.extend(others.iter().filter(|other| !keys.contains(&other.user.id)).cloned());
                let tally = self.put(members).await?;
                return Ok(Tally { removed: removed + tally.removed, ..tally });
            }
            Fault::ColoursInCapitals => {
                for member in &mut members {
                    member.color =
                        member.color.as_str().to_uppercase().parse().map_err(StoreError::corrupt)?;
                }
            }
            Fault::Text(spoilt) => {
                for member in &mut members {
                    member.role = spoilt.name(&member.role);
                    member.user.name = spoilt.name(&member.user.name);
                    member.user.username = spoilt.name(&member.user.username);
                }
            }
            Fault::UserShared => {
                let users: std::collections::HashMap<_, _> =
                    members.iter().map(|member| (member.user.id, member.user.clone())).collect();
                for member in &mut members {
                    member.user = users.get(&member.user.id).cloned().unwrap_or_else(|| member.user.clone());
                }
            }
            Fault::ReplacesInSteps => {
                let _turn = self.turn.lock().await;
                let before = self.inner.team.all().await?;
                let same = |one: &TeamMember| before.contains(one);
                if members.len() != before.len() || !members.iter().all(same) {
                    self.put(vec![]).await?;
                    a_turn().await;
                    self.put(members.clone()).await?;
                    return Ok(difference(&before, &members));
                }
            }
            Fault::ReadsOnce => {}
        }
        self.put(members).await
    }
}

#[async_trait]
impl RecordsOver for Wrong {
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

#[async_trait]
impl TeamRosterOver for Wrong {
    fn team(&self) -> &dyn TeamRoster {
        &*self.inner.team
    }

    async fn all(&self) -> Result<Arc<[TeamMember]>, StoreError> {
        let all = self.inner.team.all().await?;
        match self.fault {
            Fault::ReadsOnce => {
                let mut first = locked(&self.first);
                Ok(Arc::clone(first.get_or_insert(all)))
            }
            _ => Ok(all),
        }
    }
}

fn difference(before: &[TeamMember], after: &[TeamMember]) -> Tally {
    let mut tally = Tally::NOTHING;
    for member in after {
        match before.iter().find(|earlier| earlier.key() == member.key()) {
            None => tally.added += 1,
            Some(earlier) if earlier != member => tally.changed += 1,
            Some(_) => {}
        }
    }
    let gone = |earlier: &&TeamMember| !after.iter().any(|member| member.key() == earlier.key());
    Tally { removed: before.iter().filter(gone).count() as u64, ..tally }
}
