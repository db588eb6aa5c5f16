//! Grants as rows. The platform's list is packed: it can be long, is read with every request and never searched.

use super::{
    makes_no_sense,
    snowflake::{from_column, to_column},
    unreadable::{Key, Keyed, Unreadable},
};
use crate::{failure::RowError, schema::grants};
use companion_domain::{
    model::{GuildId, GuildList, Membership, PlatformPermissions, Timestamp, UserId},
    port::{Grant, GrantContent, GrantVersion, Sealed},
};
use diesel::{AsChangeset, Insertable, Queryable, Selectable};

/// The form of the packed list: guild and permissions in eight bytes each, and a byte that says whether it is owned.
const FORM: u8 = 1;
const MEMBERSHIP: usize = 17;

#[derive(Debug, Queryable, Selectable, Insertable, AsChangeset)]
#[diesel(table_name = grants, treat_none_as_null = true)]
pub(crate) struct GrantRow {
    pub(crate) user_id: i64,
    pub(crate) version: i64,
    pub(crate) tokens: Option<Vec<u8>>,
    pub(crate) list: Option<Vec<u8>>,
    pub(crate) fetched_at: Option<i64>,
}

impl GrantRow {
    pub(crate) fn new(user: UserId, version: i64, content: &GrantContent) -> Self {
        Self {
            user_id: to_column(user),
            version,
            tokens: content.tokens.as_ref().map(|sealed| sealed.as_bytes().to_vec()),
            list: content.list.as_ref().map(|list| pack(&list.memberships)),
            fetched_at: content.list.as_ref().map(|list| list.fetched_at.micros()),
        }
    }
}

/// A version as a column holds it.
pub(crate) fn version_to_column(version: GrantVersion) -> i64 {
    version.0.cast_signed()
}

/// The version that a column holds.
pub(crate) fn version_from_column(column: i64) -> GrantVersion {
    GrantVersion(column.cast_unsigned())
}

impl Keyed for GrantRow {
    fn key(&self) -> Key {
        Key::Id(self.user_id)
    }
}

impl GrantRow {
    /// The grant. A list that cannot be read counts as none where there are tokens to get a new one with.
    pub(crate) fn read(self, unreadable: &Unreadable) -> Result<(UserId, Grant), RowError> {
        let user = from_column(self.user_id, "grants", "user_id")?;
        let list = match read_list(self.list.as_deref(), self.fetched_at) {
            Err(error) if self.tokens.is_some() => unreadable.accept(&Key::Id(self.user_id), Err(error)),
            read => read?,
        };
        let content = GrantContent { tokens: self.tokens.map(Sealed::from_bytes), list };
        Ok((user, Grant { version: version_from_column(self.version), content }))
    }
}

fn read_list(packed: Option<&[u8]>, fetched_at: Option<i64>) -> Result<Option<GuildList>, RowError> {
    match (packed, fetched_at) {
        (None, None) => Ok(None),
        (Some(packed), Some(fetched_at)) => Ok(Some(GuildList {
            memberships: unpack(packed).ok_or(()).map_err(makes_no_sense("grants", "list"))?,
            fetched_at: Timestamp::from_micros(fetched_at),
        })),
        (Some(_), None) | (None, Some(_)) => Err(RowError { table: "grants", column: "fetched_at" }),
    }
}

fn pack(memberships: &[Membership]) -> Vec<u8> {
    let mut packed = Vec::with_capacity(1 + memberships.len() * MEMBERSHIP);
    packed.push(FORM);
    for membership in memberships {
        packed.extend_from_slice(&membership.guild.get().to_be_bytes());
        packed.extend_from_slice(&membership.permissions.bits().to_be_bytes());
        packed.push(membership.owner.into());
    }
    packed
}

fn unpack(packed: &[u8]) -> Option<std::sync::Arc<[Membership]>> {
    let packed = packed.strip_prefix(&[FORM])?;
    let (memberships, rest) = packed.as_chunks::<MEMBERSHIP>();
    if !rest.is_empty() {
        return None;
    }
    memberships.iter().map(unpack_one).collect()
}

fn unpack_one(packed: &[u8; MEMBERSHIP]) -> Option<Membership> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_comes_back_from_its_packed_form_and_a_damaged_one_does_not() {
        let membership = |guild, owner, bits| Membership {
            guild: GuildId::new(guild).unwrap(),
            owner,
            permissions: PlatformPermissions::from_bits(bits),
        };
        let list = [membership(1, true, u64::MAX), membership(u64::MAX, false, 0)];
        let packed = pack(&list);
        assert_eq!(&*unpack(&packed).unwrap(), &list);
        assert_eq!(&*unpack(&pack(&[])).unwrap(), &[]);
        assert!(unpack(&packed[..packed.len() - 1]).is_none());
        assert!(unpack(&[]).is_none());
        assert!(unpack(&[2]).is_none());
    }
}
