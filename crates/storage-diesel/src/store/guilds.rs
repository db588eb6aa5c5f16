//! Guilds that have the bot, and the roles of their members.

use super::{AT_ONCE, removed};
use crate::{
    change::NAMED,
    connection::AnyConnection,
    failure::{Failure, RowError},
    row::{
        guild::GuildRow,
        member::{MemberRow, roles_from_text},
        snowflake::{from_column, to_column},
        unreadable::{Key, Unreadable},
    },
    schema::{guilds, members},
    storage::DieselStorage,
    writer::Write,
};
use async_trait::async_trait;
use companion_domain::{
    change::{Kind, Subject, Tally},
    model::{Guild, GuildId, Member, RoleSet, UserId},
    port::{GuildDirectory, GuildSeen, StoreError},
};
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl, QueryResult, RunQueryDsl, SelectableHelper};
use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

fn find(db: &mut AnyConnection, guild: GuildId) -> QueryResult<Option<GuildRow>> {
    guilds::table.find(to_column(guild)).select(GuildRow::as_select()).first(db).optional()
}

fn is_known(db: &mut AnyConnection, guild: GuildId) -> QueryResult<bool> {
    let found: Option<i64> = guilds::table.find(to_column(guild)).select(guilds::id).first(db).optional()?;
    Ok(found.is_some())
}

/// A member's roles that cannot be read are none, which is what fewest follows from.
fn seen_by(
    db: &mut AnyConnection,
    user: UserId,
    asked: &[i64],
    unreadable: &Unreadable,
) -> QueryResult<Vec<GuildSeen>> {
    let none = Arc::new(RoleSet::default());
    let mut seen = Vec::new();
    for some in asked.chunks(AT_ONCE) {
        let known: Vec<GuildRow> =
            guilds::table.filter(guilds::id.eq_any(some)).select(GuildRow::as_select()).load(db)?;
        let roles: Vec<(i64, String)> = members::table
            .filter(members::user_id.eq(to_column(user)))
            .filter(members::guild.eq_any(some))
            .select((members::guild, members::roles))
            .load(db)?;
        let roles: HashMap<_, _> = roles.into_iter().collect();
        for row in known {
            let id = row.id;
            let Some(guild) = unreadable.one(row) else { continue };
            let roles = roles.get(&id).and_then(|text| {
                unreadable.accept(&Key::Ids(id, to_column(user)), roles_from_text(text)).map(Arc::new)
            });
            let roles = roles.unwrap_or_else(|| Arc::clone(&none));
            seen.push(GuildSeen { guild: Arc::new(guild), roles });
        }
    }
    Ok(seen)
}

fn put(write: &mut Write<'_>, id: GuildId, row: &GuildRow) -> Result<Tally, Failure> {
    let tally = match find(write.db, id)? {
        Some(kept) if kept == *row => Tally::NOTHING,
        Some(_) => {
            diesel::update(guilds::table.find(row.id)).set(row).execute(write.db)?;
            Tally::CHANGED
        }
        None => {
            diesel::insert_into(guilds::table).values(row).execute(write.db)?;
            Tally::ADDED
        }
    };
    Ok(write.noted(tally, || Subject::Guild(id)))
}

/// Removes a guild. Its members go along: they are noted, and not counted.
fn remove(write: &mut Write<'_>, guild: GuildId) -> Result<Tally, Failure> {
    let enough_to_know = i64::try_from(NAMED + 1).unwrap_or(i64::MAX);
    let users: Vec<i64> = members::table
        .filter(members::guild.eq(to_column(guild)))
        .select(members::user_id)
        .limit(enough_to_know)
        .load(write.db)?;
    for user in users {
        write.note(member(Ok(guild), from_column(user, "members", "user_id")));
    }
    diesel::delete(members::table.filter(members::guild.eq(to_column(guild)))).execute(write.db)?;
    let gone = diesel::delete(guilds::table.find(to_column(guild))).execute(write.db)?;
    Ok(write.noted(removed(gone), || Subject::Guild(guild)))
}

fn member(guild: Result<GuildId, RowError>, user: Result<UserId, RowError>) -> Subject {
    match (guild, user) {
        (Ok(guild), Ok(user)) => Subject::Member(guild, user),
        (Err(_), _) | (_, Err(_)) => Subject::Many(Kind::Member),
    }
}

fn put_member(write: &mut Write<'_>, member: &Member) -> Result<Option<Tally>, Failure> {
    if !is_known(write.db, member.guild)? {
        return Ok(None);
    }
    let row = MemberRow::from(member);
    let place = members::table.find((row.guild, row.user_id));
    let kept: Option<String> = place.select(members::roles).first(write.db).optional()?;
    let tally = match kept {
        Some(roles) if roles == row.roles => Tally::NOTHING,
        Some(_) => {
            diesel::update(place).set(members::roles.eq(&row.roles)).execute(write.db)?;
            Tally::CHANGED
        }
        None => {
            diesel::insert_into(members::table).values(&row).execute(write.db)?;
            Tally::ADDED
        }
    };
    Ok(Some(write.noted(tally, || Subject::Member(member.guild, member.user))))
}

fn remove_member(write: &mut Write<'_>, guild: GuildId, user: UserId) -> Result<Option<Tally>, Failure> {
    if !is_known(write.db, guild)? {
        return Ok(None);
    }
    let place = members::table.find((to_column(guild), to_column(user)));
    let gone = diesel::delete(place).execute(write.db)?;
    Ok(Some(write.noted(removed(gone), || Subject::Member(guild, user))))
}

/// Forgets a user's roles everywhere.
pub(super) fn forget_member(write: &mut Write<'_>, user: UserId) -> Result<Tally, Failure> {
    let of_user = members::user_id.eq(to_column(user));
    let known: BTreeSet<i64> =
        members::table.filter(of_user).select(members::guild).load(write.db)?.into_iter().collect();
    for guild in &known {
        write.note(member(from_column(*guild, "members", "guild"), Ok(user)));
    }
    diesel::delete(members::table.filter(of_user)).execute(write.db)?;
    Ok(removed(known.len()))
}

#[async_trait]
impl GuildDirectory for DieselStorage {
    async fn seen_by(&self, user: UserId, guilds: &[GuildId]) -> Result<Vec<GuildSeen>, StoreError> {
        if guilds.is_empty() {
            return Ok(Vec::new());
        }
        let asked: BTreeSet<_> = guilds.iter().copied().map(to_column).collect();
        let asked: Vec<_> = asked.into_iter().collect();
        let unreadable = self.unreadable();
        self.snapshot(move |db| Ok(seen_by(db, user, &asked, &unreadable)?)).await
    }

    async fn find(&self, guild: GuildId) -> Result<Option<Arc<Guild>>, StoreError> {
        let unreadable = self.unreadable();
        self.read(move |db| Ok(find(db, guild)?.and_then(|row| unreadable.one(row)).map(Arc::new))).await
    }

    async fn put(&self, guild: &Guild) -> Result<Tally, StoreError> {
        let (id, row) = (guild.id, GuildRow::from(guild));
        self.write(move |write| put(write, id, &row)).await
    }

    async fn remove(&self, guild: GuildId) -> Result<Tally, StoreError> {
        self.write(move |write| remove(write, guild)).await
    }

    async fn put_member(&self, member: &Member) -> Result<Option<Tally>, StoreError> {
        let member = member.clone();
        self.write(move |write| put_member(write, &member)).await
    }

    async fn remove_member(&self, guild: GuildId, user: UserId) -> Result<Option<Tally>, StoreError> {
        self.write(move |write| remove_member(write, guild, user)).await
    }
}
