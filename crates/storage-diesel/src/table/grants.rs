//! Grants: what the platform lets this service do on behalf of users. The list of guilds is packed, because it can be
//! long, is read with every request and is never searched.

use super::{
    column::Field as _,
    row::{Columns as _, GrantRow, Row, read},
    unreadable::Unreadable,
};
use crate::failure::RowError;
use companion_domain::{
    model::{
        GuildId, GuildList, Membership, NamedGuild, PlatformPermissions, Profile, Timestamp, UserId, WebUrl,
    },
    port::{Grant, GrantContent, GrantVersion, Sealed},
};
use std::sync::Arc;

/// Version byte of a packed list without names. An item has guild and permissions of eight bytes each, and a byte for
/// ownership.
const PACKED_VERSION: u8 = 1;
/// Version byte of a packed list that begins with the guilds without the bot: their number in two bytes, and of each its
/// id in eight, its name and its icon, which follow their length in two. No icon is empty.
const NAMED_VERSION: u8 = 2;
const PACKED_MEMBERSHIP_BYTES: usize = 17;

impl GrantRow {
    pub(crate) fn new(user: UserId, version: i64, content: &GrantContent) -> Self {
        Self {
            user_id: user.column(),
            version,
            tokens: content.tokens.as_ref().map(|sealed| sealed.as_bytes().to_vec()),
            list: content.list.as_ref().map(pack),
            fetched_at: content.list.as_ref().map(|list| list.fetched_at.micros()),
            name: content.profile.as_ref().map(|profile| profile.name.to_string()),
            avatar: content.profile.as_ref().map(|profile| profile.avatar.to_string()),
        }
    }

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

impl Row for GrantRow {
    type Value = (UserId, Grant);

    fn of((user, grant): &(UserId, Grant)) -> Self {
        Self::new(*user, grant.version.0.cast_signed(), &grant.content)
    }

    /// An unreadable list counts as absent if there are tokens to fetch a new one with.
    fn read(&self, unreadable: &Unreadable) -> Result<(UserId, Grant), RowError> {
        let user = read!(self.user_id);
        let list = match self.read_list() {
            Err(error) if self.tokens.is_some() => unreadable.accept(|| self.key(), Err(error)),
            read => read?,
        };
        let profile = profile(self.name.as_deref(), self.avatar.as_deref());
        let content = GrantContent { tokens: self.tokens.clone().map(Sealed::from_bytes), list, profile };
        Ok((user, Grant { version: GrantVersion(self.version.cast_unsigned()), content }))
    }
}

/// Reads a name and picture. One that is not valid any more counts as absent.
pub(crate) fn profile(name: Option<&str>, avatar: Option<&str>) -> Option<Profile> {
    Some(Profile { name: name?.parse().ok()?, avatar: avatar?.parse().ok()? })
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

fn unpack(mut packed: &[u8]) -> Option<(Arc<[Membership]>, Vec<NamedGuild>)> {
    let without_bot = match take(&mut packed)? {
        [PACKED_VERSION] => Vec::new(),
        [NAMED_VERSION] => unpack_names(&mut packed)?,
        _ => return None,
    };
    let mut memberships = Vec::with_capacity(packed.len() / PACKED_MEMBERSHIP_BYTES);
    while !packed.is_empty() {
        memberships.push(Membership {
            guild: GuildId::new(u64::from_be_bytes(take(&mut packed)?)).ok()?,
            permissions: PlatformPermissions::from_bits(u64::from_be_bytes(take(&mut packed)?)),
            owner: match take(&mut packed)? {
                [0] => false,
                [1] => true,
                _ => return None,
            },
        });
    }
    Some((memberships.into(), without_bot))
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
