//! Grants: what the platform lets this service do on behalf of users. The list of guilds is packed, because it can be
//! long, is read with every request and is never searched.

use super::{
    column::{any_of, from_column, to_column},
    history::{self, Write},
    row::{Columns as _, GrantRow, Row, Sql, Statement, read},
    unreadable::Unreadable,
};
use crate::{
    connection::AnyConnection,
    failure::{RowError, WorkError},
    schema::{grants, sessions},
};
use companion_domain::{
    change::{Key, Subject},
    model::{
        GuildId, GuildList, Membership, NamedGuild, PlatformPermissions, Profile, Timestamp, UserId, WebUrl,
    },
    port::{ClaimAfter, Claimed, Grant, GrantContent, GrantVersion, Sealed},
};
use diesel::{
    BoolExpressionMethods, ExpressionMethods, OptionalExtension, QueryDsl, RunQueryDsl,
    dsl::{exists, not},
    sql_types::{BigInt, Nullable, Text},
};
use std::{collections::HashMap, num::NonZeroU32, sync::Arc};

/// Version byte of a packed list without names. An item has guild and permissions of eight bytes each, and a byte for
/// ownership.
const PACKED_VERSION: u8 = 1;
/// Version byte of a packed list that begins with the guilds without the bot: their number in two bytes, and of each its
/// id in eight, its name and its icon, which follow their length in two. No icon is empty.
const NAMED_VERSION: u8 = 2;
const PACKED_MEMBERSHIP_BYTES: usize = 17;

impl GrantRow {
    fn new(user: UserId, version: i64, content: &GrantContent) -> Self {
        Self {
            user_id: to_column(user),
            version,
            tokens: content.tokens.as_ref().map(|sealed| sealed.as_bytes().to_vec()),
            list: content.list.as_ref().map(pack),
            fetched_at: content.list.as_ref().map(|list| list.fetched_at.micros()),
            name: content.profile.as_ref().map(|profile| profile.name.to_string()),
            avatar: content.profile.as_ref().map(|profile| profile.avatar.to_string()),
        }
    }
}

fn version_to_column(version: GrantVersion) -> i64 {
    version.0.cast_signed()
}

fn version_from_column(column: i64) -> GrantVersion {
    GrantVersion(column.cast_unsigned())
}

impl Row for GrantRow {
    type Value = (UserId, Grant);

    fn of((user, grant): &(UserId, Grant)) -> Self {
        Self::new(*user, version_to_column(grant.version), &grant.content)
    }

    /// An unreadable list counts as absent if there are tokens to fetch a new one with.
    fn read(&self, unreadable: &Unreadable) -> Result<(UserId, Grant), RowError> {
        let user = read!(self.user_id, from_column);
        let list = match self.read_list() {
            Err(error) if self.tokens.is_some() => unreadable.accept(|| self.key(), Err(error)),
            read => read?,
        };
        let profile = profile(self.name.as_deref(), self.avatar.as_deref());
        let content = GrantContent { tokens: self.tokens.clone().map(Sealed::from_bytes), list, profile };
        Ok((user, Grant { version: version_from_column(self.version), content }))
    }
}

impl GrantRow {
    fn read_list(&self) -> Result<Option<GuildList>, RowError> {
        let nonsense = |column| RowError { table: Self::TABLE.name, column };
        match (&self.list, self.fetched_at) {
            (None, None) => Ok(None),
            (Some(packed), Some(fetched_at)) => {
                let (memberships, without_bot) = unpack(packed).ok_or(nonsense("list"))?;
                let fetched_at = Timestamp::from_micros(fetched_at);
                Ok(Some(GuildList { memberships, without_bot, fetched_at }))
            }
            (Some(_), None) | (None, Some(_)) => Err(nonsense("fetched_at")),
        }
    }
}

/// Reads a name and picture. One that is not valid any more counts as absent.
fn profile(name: Option<&str>, avatar: Option<&str>) -> Option<Profile> {
    Some(Profile { name: name?.parse().ok()?, avatar: avatar?.parse().ok()? })
}

pub(crate) fn profiles(db: &mut AnyConnection, users: &[i64]) -> Result<HashMap<UserId, Profile>, WorkError> {
    let (any, values) = any_of(users);
    let select = Sql::new(&format!("SELECT user_id, name, avatar FROM grants WHERE user_id {any}"));
    let rows = Statement::<(BigInt, Nullable<Text>, Nullable<Text>)>::new(&select, values).rows(db)?;
    let read = |(user, name, avatar): (i64, Option<String>, Option<String>)| {
        Some((from_column(&user).ok()?, profile(name.as_deref(), avatar.as_deref())?))
    };
    Ok(rows.into_iter().filter_map(read).collect())
}

fn pack(list: &GuildList) -> Vec<u8> {
    let mut packed = Vec::with_capacity(1 + list.memberships.len() * PACKED_MEMBERSHIP_BYTES);
    if list.without_bot.is_empty() {
        packed.push(PACKED_VERSION);
    } else {
        packed.push(NAMED_VERSION);
        pack_names(&list.without_bot, &mut packed);
    }
    for membership in list.memberships.iter() {
        packed.extend_from_slice(&membership.guild.get().to_be_bytes());
        packed.extend_from_slice(&membership.permissions.bits().to_be_bytes());
        packed.push(membership.owner.into());
    }
    packed
}

/// Packs guilds with their names. Their number, names and URLs are far below what two bytes can count.
fn pack_names(named: &[NamedGuild], packed: &mut Vec<u8>) {
    let length = |length: usize| u16::try_from(length).unwrap_or(u16::MAX);
    let count = length(named.len());
    packed.extend_from_slice(&count.to_be_bytes());
    for one in named.iter().take(count.into()) {
        packed.extend_from_slice(&one.guild.get().to_be_bytes());
        for text in [one.name.as_str(), one.icon.as_ref().map_or("", WebUrl::as_str)] {
            let length = length(text.len());
            packed.extend_from_slice(&length.to_be_bytes());
            packed.extend(text.bytes().take(length.into()));
        }
    }
}

/// Takes guilds with their names from the beginning. A name that is not valid any more is left out.
fn unpack_names(packed: &mut &[u8]) -> Option<Vec<NamedGuild>> {
    let mut named = Vec::new();
    for _ in 0..u16::from_be_bytes(take(packed)?) {
        let guild = GuildId::new(u64::from_be_bytes(take(packed)?)).ok()?;
        let (name, icon) = (take_text(packed)?, take_text(packed)?);
        named.extend(name.parse().ok().map(|name| NamedGuild { guild, name, icon: icon.parse().ok() }));
    }
    Some(named)
}

fn take<const LENGTH: usize>(packed: &mut &[u8]) -> Option<[u8; LENGTH]> {
    let (first, rest) = packed.split_first_chunk()?;
    *packed = rest;
    Some(*first)
}

fn take_text<'a>(packed: &mut &'a [u8]) -> Option<&'a str> {
    let length = u16::from_be_bytes(take(packed)?);
    let (text, rest) = packed.split_at_checked(length.into())?;
    *packed = rest;
    str::from_utf8(text).ok()
}

fn unpack(packed: &[u8]) -> Option<(Arc<[Membership]>, Vec<NamedGuild>)> {
    let mut packed = packed;
    let without_bot = match take(&mut packed)? {
        [PACKED_VERSION] => Vec::new(),
        [NAMED_VERSION] => unpack_names(&mut packed)?,
        _ => return None,
    };
    let (memberships, rest) = packed.as_chunks::<PACKED_MEMBERSHIP_BYTES>();
    if !rest.is_empty() {
        return None;
    }
    Some((memberships.iter().map(unpack_one).collect::<Option<_>>()?, without_bot))
}

fn unpack_one(packed: &[u8; PACKED_MEMBERSHIP_BYTES]) -> Option<Membership> {
    let (guild, rest) = packed.split_first_chunk::<8>()?;
    let (permissions, owner) = rest.split_first_chunk::<8>()?;
    let owner = match owner {
        [0] => false,
        [1] => true,
        _ => return None,
    };
    Some(Membership {
        guild: GuildId::new(u64::from_be_bytes(*guild)).ok()?,
        owner,
        permissions: PlatformPermissions::from_bits(u64::from_be_bytes(*permissions)),
    })
}

pub(crate) fn find(
    db: &mut AnyConnection,
    user: UserId,
    unreadable: &Unreadable,
) -> Result<Option<Grant>, WorkError> {
    Ok(GrantRow::require(db, &Key::Grant(user), unreadable)?.map(|(_, grant)| grant))
}

/// Returns the version of a grant, readable or not.
pub(crate) fn version(db: &mut AnyConnection, user: UserId) -> Result<Option<GrantVersion>, WorkError> {
    let version = grants::table.find(to_column(user)).select(grants::version).get_result(db).optional()?;
    Ok(version.map(version_from_column))
}

/// Records the change, and derives a version from its revision. Revisions only grow, so a grant that is removed and
/// created again never repeats a version that a slow refresh still holds.
fn next_version(write: &mut Write<'_>, user: UserId) -> Result<i64, WorkError> {
    let revision = write.record(&Subject::Grant(user))?;
    Ok(revision.0.cast_signed().saturating_add(history::grant_offset(write.db)?))
}

pub(crate) fn replace(
    write: &mut Write<'_>,
    user: UserId,
    content: &GrantContent,
) -> Result<GrantVersion, WorkError> {
    let row = GrantRow::new(user, next_version(write, user)?, content);
    let released = grants::claim_until.eq(None::<i64>);
    let written = diesel::update(grants::table.find(row.user_id)).set((&row, released)).execute(write.db)?;
    if written == 0 {
        diesel::insert_into(grants::table).values(&row).execute(write.db)?;
    }
    Ok(version_from_column(row.version))
}

pub(crate) fn claim(
    db: &mut AnyConnection,
    user: UserId,
    version: GrantVersion,
    until: Timestamp,
    dead: Option<Timestamp>,
) -> Result<Claimed, WorkError> {
    // In SQL, a comparison with NULL is never true.
    let free = grants::claim_until.is_null().or(grants::claim_until.eq(dead.map(Timestamp::micros)));
    let claimed = diesel::update(grants::table)
        .filter(grants::user_id.eq(to_column(user)))
        .filter(grants::version.eq(version_to_column(version)))
        .filter(free)
        .set(grants::claim_until.eq(until.micros()))
        .execute(db)?;
    if claimed == 1 {
        return Ok(Claimed::Granted);
    }
    let held: Option<Option<i64>> = grants::table
        .find(to_column(user))
        .filter(grants::version.eq(version_to_column(version)))
        .select(grants::claim_until)
        .get_result(db)
        .optional()?;
    Ok(held.flatten().map_or(Claimed::Gone, |end| Claimed::Held(Timestamp::from_micros(end))))
}

pub(crate) fn release_claim(
    db: &mut AnyConnection,
    user: UserId,
    version: GrantVersion,
) -> Result<(), WorkError> {
    diesel::update(grants::table)
        .filter(grants::user_id.eq(to_column(user)))
        .filter(grants::version.eq(version_to_column(version)))
        .set(grants::claim_until.eq(None::<i64>))
        .execute(db)?;
    Ok(())
}

pub(crate) fn update(
    write: &mut Write<'_>,
    user: UserId,
    version: GrantVersion,
    content: &GrantContent,
    claim: ClaimAfter,
) -> Result<GrantVersion, WorkError> {
    if self::version(write.db, user)? != Some(version) {
        return Err(WorkError::Conflict("the grant was replaced or removed"));
    }
    if claim == ClaimAfter::Released {
        return replace(write, user, content);
    }
    let row = GrantRow::new(user, next_version(write, user)?, content);
    diesel::update(grants::table.find(row.user_id)).set(&row).execute(write.db)?;
    Ok(version_from_column(row.version))
}

/// Returns the next users with a grant, or with a grant and no session. They are in the order of the signed column, which
/// differs from that of the ids.
pub(crate) fn holders(
    db: &mut AnyConnection,
    after: Option<UserId>,
    limit: NonZeroU32,
    only_unused: bool,
) -> Result<Vec<UserId>, WorkError> {
    // No user has the id 0, and such a row must not shorten the page.
    let users = grants::table.select(grants::user_id).filter(grants::user_id.ne(0));
    let mut users = users.order(grants::user_id).limit(limit.get().into()).into_boxed();
    if let Some(after) = after {
        users = users.filter(grants::user_id.gt(to_column(after)));
    }
    if only_unused {
        let session = sessions::table.filter(sessions::user_id.eq(grants::user_id));
        users = users.filter(not(exists(session)));
    }
    let columns: Vec<i64> = users.load(db)?;
    Ok(columns.iter().filter_map(|column| from_column(column).ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_packed_lists_and_rejects_damaged_ones() {
        let membership = |guild, owner, bits| Membership {
            guild: GuildId::new(guild).unwrap(),
            owner,
            permissions: PlatformPermissions::from_bits(bits),
        };
        let named = |guild, name: &str, icon: Option<&str>| NamedGuild {
            guild: GuildId::new(guild).unwrap(),
            name: name.parse().unwrap(),
            icon: icon.map(|icon| icon.parse().unwrap()),
        };
        let memberships = [membership(1, true, u64::MAX), membership(u64::MAX, false, 0)];
        let names =
            [named(1, "Zoë", None), named(u64::MAX, &"🦊".repeat(50), Some("https://cdn.example/a.png"))];
        let fetched_at = Timestamp::EPOCH;
        for (memberships, without_bot) in
            [(memberships.as_slice(), [].as_slice()), (&memberships, &names), (&[], &names), (&[], &[])]
        {
            let list =
                GuildList { memberships: memberships.into(), without_bot: without_bot.to_vec(), fetched_at };
            let packed = pack(&list);
            assert_eq!(unpack(&packed), Some((list.memberships, list.without_bot)));
        }
        let packed =
            pack(&GuildList { memberships: memberships.into(), without_bot: Vec::new(), fetched_at });
        assert_eq!(packed.first(), Some(&PACKED_VERSION), "older versions can read it");
        assert!(unpack(&packed[..packed.len() - 1]).is_none());
        assert!(unpack(&[]).is_none());
        for damaged in
            [&[2][..], &[2, 0], &[2, 0, 1, 0], &[2, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7, 0, 9, b'x'], &[3]]
        {
            assert!(unpack(damaged).is_none(), "{damaged:?}");
        }
    }
}
