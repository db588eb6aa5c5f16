//! Wrong guild directories.

use crate::conformance::{
    proof::{Proof, Workshop, a_turn, memory},
    text::Spoilt,
};
use async_trait::async_trait;
use companion_domain::{
    change::Tally,
    model::{Guild, GuildId, Member, RoleBindings, RoleSet, UserId},
    port::{GuildDirectory, GuildSeen, StoreError},
};
use companion_storage_memory::MemoryStorage;
use companion_testkit::conformance::{Fresh, guild_directory::SUITE};
use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

#[derive(Clone, Copy, PartialEq)]
enum Fault {
    MembersSurvive,
    MembersWait,
    MembersGoWithEveryPut,
    RolesLeak,
    UnchangedCountsAsChanged,
    RemoveOnAbsentFails,
    FindIsStale,
    SeenTwice,
    IdsAreSigned,
    BindingsIgnored,
    IconCannotGo,
    SeenHundred,
    SeenInSteps,
    Text(Spoilt),
    PutsInSteps,
    RemovesInSteps,
    HundredMembersGo,
    BoundRolesTen,
}

pub(crate) fn proofs() -> Vec<Proof> {
    use Fault as F;
    let workshop = Workshop {
        suite: "guild_directory",
        behaviours: SUITE,
        sound: || Fresh::new(memory()),
        wrong: |fault| {
            Fresh::new(Arc::new(Wrong {
                inner: memory(),
                fault,
                members: Mutex::default(),
                found: Mutex::default(),
            }))
        },
    };
    let replaces = "a_put_replaces_everything_and_counts_what_it_did";
    workshop.proofs(&[
        (F::MembersSurvive, "members survive their guild", "a_guild_takes_its_members_along_for_good"),
        (F::MembersWait, "a member waits for a guild to come", "a_member_of_an_unknown_guild_is_not_kept"),
        (
            F::MembersGoWithEveryPut,
            "a guild that changes loses its members",
            "a_guild_that_changes_keeps_its_members",
        ),
        (F::RolesLeak, "a user has another's roles", "a_user_sees_their_own_roles_and_nobody_elses"),
        (F::UnchangedCountsAsChanged, "a put that changes nothing counts as a change", replaces),
        (
            F::RemoveOnAbsentFails,
            "removing what is gone is an error",
            "removing_can_be_repeated_and_counts_once",
        ),
        (
            F::FindIsStale,
            "find remembers what it once found",
            "every_reader_sees_a_guild_that_was_answered_for",
        ),
        (
            F::SeenTwice,
            "a guild that is asked for twice is seen twice",
            "only_known_guilds_are_seen_each_once",
        ),
        (F::IdsAreSigned, "ids lose their highest bit", "ids_beyond_63_bits_are_kept_apart"),
        (
            F::BindingsIgnored,
            "new bound roles do not replace the old",
            "bound_roles_are_replaced_and_not_added_to",
        ),
        (F::IconCannotGo, "an icon cannot be taken away", replaces),
        (F::SeenHundred, "a hundred guilds are seen at most", "very_many_guilds_are_seen_at_once"),
        (F::SeenInSteps, "guilds are read one after the other", "guilds_are_seen_as_of_one_moment"),
        (F::Text(Spoilt::Trimmed), "names are trimmed", "names_are_kept_to_the_character"),
        (
            F::Text(Spoilt::Composed),
            "accents are put together with their letters",
            "names_are_kept_to_the_character",
        ),
        (F::Text(Spoilt::Stripped), "control characters are dropped", "names_are_kept_to_the_character"),
        (F::Text(Spoilt::Collapsed), "two blanks become one", "names_are_kept_to_the_character"),
        (F::Text(Spoilt::Cut), "names are cut at 255 bytes", "names_are_kept_to_the_character"),
        (
            F::PutsInSteps,
            "a put that is given up has lost the bound roles",
            "a_write_that_is_given_up_is_made_whole_or_not_at_all",
        ),
        (
            F::RemovesInSteps,
            "a removal that is given up has taken the members",
            "a_write_that_is_given_up_is_made_whole_or_not_at_all",
        ),
        (
            F::HundredMembersGo,
            "a hundred members at most go with their guild",
            "very_many_members_go_with_their_guild",
        ),
        (F::BoundRolesTen, "ten roles at most are bound to a key", "a_guild_is_found_as_it_was_put"),
    ])
}

struct Wrong {
    inner: Arc<MemoryStorage>,
    fault: Fault,
    members: Mutex<Vec<Member>>,
    found: Mutex<HashMap<GuildId, Arc<Guild>>>,
}

impl Wrong {
    fn members(&self) -> MutexGuard<'_, Vec<Member>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn found(&self) -> MutexGuard<'_, HashMap<GuildId, Arc<Guild>>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn id(&self, guild: GuildId) -> GuildId {
        match self.fault {
            Fault::IdsAreSigned => GuildId::new((guild.get() << 1) >> 1).unwrap_or(guild),
            _ => guild,
        }
    }
}

#[async_trait]
impl GuildDirectory for Wrong {
    async fn seen_by(&self, user: UserId, guilds: &[GuildId]) -> Result<Vec<GuildSeen>, StoreError> {
        let guilds: Vec<_> = guilds.iter().map(|guild| self.id(*guild)).collect();
        let user = match self.fault {
            Fault::RolesLeak => self.members().first().map_or(user, |member| member.user),
            _ => user,
        };
        match self.fault {
            Fault::SeenTwice => {
                let mut seen = Vec::new();
                for guild in guilds {
                    seen.extend(self.inner.seen_by(user, &[guild]).await?);
                }
                Ok(seen)
            }
            Fault::SeenInSteps => {
                let mut asked = HashSet::new();
                let mut seen = Vec::new();
                for guild in guilds.into_iter().filter(|guild| asked.insert(*guild)) {
                    let read = async || self.inner.seen_by(user, &[guild]).await;
                    let members = |seen: &[GuildSeen]| seen.iter().map(|seen| seen.guild.members.get()).max();
                    let first = read().await?;
                    // Two writes later, if there are any, the next guild is newer than this one.
                    for _ in 0..1000 {
                        if members(&read().await?) > members(&first).map(|members| members + 1) {
                            break;
                        }
                        a_turn().await;
                    }
                    seen.extend(first);
                }
                Ok(seen)
            }
            Fault::SeenHundred => {
                let mut seen = self.inner.seen_by(user, &guilds).await?;
                seen.truncate(100);
                Ok(seen)
            }
            _ => self.inner.seen_by(user, &guilds).await,
        }
    }

    async fn find(&self, guild: GuildId) -> Result<Option<Arc<Guild>>, StoreError> {
        let found = self.inner.find(self.id(guild)).await?;
        if self.fault != Fault::FindIsStale {
            return Ok(found);
        }
        Ok(found.map(|found| Arc::clone(self.found().entry(guild).or_insert(found))))
    }

    async fn put(&self, guild: &Guild) -> Result<Tally, StoreError> {
        let earlier = self.inner.find(guild.id).await?;
        let mut guild = Guild { id: self.id(guild.id), ..guild.clone() };
        match (self.fault, earlier) {
            (Fault::Text(spoilt), _) => guild.name = spoilt.name(&guild.name),
            (Fault::BoundRolesTen, _) => {
                let ten = |roles: &RoleSet| RoleSet::new(roles.as_slice().iter().copied().take(10).collect());
                let bindings = guild.bindings.iter().filter_map(|(key, roles)| Some((key, ten(roles).ok()?)));
                guild.bindings = RoleBindings::new(bindings);
            }
            (Fault::PutsInSteps, Some(earlier)) if *earlier != guild => {
                let first = Guild { bindings: RoleBindings::default(), ..guild.clone() };
                self.inner.put(&first).await?;
                a_turn().await;
                self.inner.put(&guild).await?;
                return Ok(Tally::CHANGED);
            }
            (Fault::BindingsIgnored, Some(earlier)) => guild.bindings = earlier.bindings.clone(),
            (Fault::IconCannotGo, Some(earlier)) => guild.icon = guild.icon.or_else(|| earlier.icon.clone()),
            (Fault::MembersGoWithEveryPut, Some(_)) => drop(self.inner.remove(guild.id).await?),
            _ => {}
        }
        let tally = self.inner.put(&guild).await?;
        if matches!(self.fault, Fault::MembersSurvive | Fault::MembersWait | Fault::HundredMembersGo) {
            let mut members = self.members().clone();
            if self.fault == Fault::HundredMembersGo {
                members.drain(..members.len().min(100));
            }
            for member in members.iter().filter(|member| member.guild == guild.id) {
                self.inner.put_member(member).await?;
            }
        }
        Ok(match self.fault {
            Fault::UnchangedCountsAsChanged if tally == Tally::NOTHING => Tally::CHANGED,
            _ => tally,
        })
    }

    async fn remove(&self, guild: GuildId) -> Result<Tally, StoreError> {
        if self.fault == Fault::RemovesInSteps {
            let members = self.members().clone();
            for member in members.iter().filter(|member| member.guild == guild) {
                self.inner.remove_member(guild, member.user).await?;
            }
            a_turn().await;
        }
        let tally = self.inner.remove(self.id(guild)).await?;
        match self.fault {
            Fault::RemoveOnAbsentFails if tally == Tally::NOTHING => {
                Err(StoreError::conflict("there is no such guild"))
            }
            _ => Ok(tally),
        }
    }

    async fn put_member(&self, member: &Member) -> Result<Option<Tally>, StoreError> {
        self.members().push(member.clone());
        self.inner.put_member(member).await
    }

    async fn remove_member(&self, guild: GuildId, user: UserId) -> Result<Option<Tally>, StoreError> {
        self.inner.remove_member(guild, user).await
    }
}
