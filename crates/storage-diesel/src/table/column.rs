//! Platform ids as columns: the same 64 bits, with a sign.

use companion_domain::model::{GuildId, Invalid, RoleId, UserId};
use std::{fmt::Display, str::FromStr};

/// How many values one statement compares with. Databases limit it, and a longer list gains nothing.
pub(crate) const AT_ONCE: usize = 500;

/// A platform id of any resource.
pub(crate) trait Snowflake: Copy + Display + FromStr<Err = Invalid> {
    fn of(number: u64) -> Result<Self, Invalid>;
    fn number(self) -> u64;
}

macro_rules! snowflake {
    ($($id:ty),+) => {
        $(impl Snowflake for $id {
            fn of(number: u64) -> Result<Self, Invalid> {
                Self::new(number)
            }

            fn number(self) -> u64 {
                self.get()
            }
        })+
    };
}

snowflake!(GuildId, RoleId, UserId);

/// The id as a column holds it.
pub(crate) fn to_column(id: impl Snowflake) -> i64 {
    id.number().cast_signed()
}

/// The id that a column holds.
pub(crate) fn from_column<I: Snowflake>(column: &i64) -> Result<I, Invalid> {
    I::of(column.cast_unsigned())
}

/// Several ids in one column, in their order.
pub(crate) fn to_text(ids: &[impl Snowflake]) -> String {
    let words: Vec<_> = ids.iter().map(ToString::to_string).collect();
    words.join(" ")
}

/// The ids that a column of several holds.
pub(crate) fn from_text<I: Snowflake>(text: &str) -> Result<Vec<I>, Invalid> {
    text.split_terminator(' ').map(str::parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_beyond_what_a_signed_number_holds_comes_back() {
        for number in [1, u64::MAX / 2, 1 << 63, u64::MAX] {
            let id = UserId::new(number).unwrap();
            assert_eq!(from_column::<UserId>(&to_column(id)).unwrap(), id);
        }
        assert!(from_column::<UserId>(&0).is_err());
    }

    #[test]
    fn lists_of_ids_come_back_in_their_order() {
        for list in [vec![], vec![5], vec![3, u64::MAX, 1]] {
            let ids: Vec<_> = list.into_iter().map(|number| RoleId::new(number).unwrap()).collect();
            assert_eq!(from_text::<RoleId>(&to_text(&ids)).unwrap(), ids);
        }
        assert!(from_text::<RoleId>("1  2").is_err());
    }
}
