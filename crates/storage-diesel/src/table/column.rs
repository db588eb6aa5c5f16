//! Conversions between values and columns.

use super::row::Value;
use companion_domain::{
    model::{GuildId, Invalid, RoleId, UserId},
    port::ShardSlice,
};
use std::{fmt::Display, str::FromStr};

/// Maximum number of values in one statement. Databases limit it, and a longer list is not faster.
pub(crate) const MAX_VALUES: usize = 500;

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

/// Returns the id as stored in a column.
pub(crate) fn to_column(id: impl Snowflake) -> i64 {
    id.number().cast_signed()
}

/// Parses the id stored in a column.
pub(crate) fn from_column<I: Snowflake>(column: &i64) -> Result<I, Invalid> {
    I::of(column.cast_unsigned())
}

/// Ranges of signed columns, in the order of the unsigned platform ids that they hold. No id is 0, but a row may have
/// it; that row is counted as unreadable.
pub(crate) const ID_RANGES: [(i64, i64); 2] = [(0, i64::MAX), (i64::MIN, -1)];

/// Returns the SQL condition for guilds of a shard. The right shift is arithmetic, so the filled bits are masked.
pub(crate) fn in_shard(column: &str, slice: ShardSlice) -> String {
    format!("(({column} >> 22) & 4398046511103) % {} = {}", slice.count(), slice.index())
}

/// Joins several ids into one column, in order.
pub(crate) fn to_text(ids: &[impl Snowflake]) -> String {
    let words: Vec<_> = ids.iter().map(ToString::to_string).collect();
    words.join(" ")
}

/// Parses a column of several ids.
pub(crate) fn from_text<I: Snowflake>(text: &str) -> Result<Vec<I>, Invalid> {
    text.split_terminator(' ').map(str::parse).collect()
}

/// Returns the condition that a column is one of these values, of which there must be at least one, and the values to
/// bind. The last value is repeated up to a power of two, so that there are few distinct statements to prepare.
pub(crate) fn any_of(values: &[i64]) -> (String, Vec<Value>) {
    let padding = values.last().into_iter().cycle().take(values.len().next_power_of_two() - values.len());
    let values: Vec<_> = values.iter().chain(padding).map(|value| Value::from(*value)).collect();
    (format!("IN ({})", vec!["?"; values.len()].join(", ")), values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_ids_beyond_i64_max() {
        for number in [1, u64::MAX / 2, 1 << 63, u64::MAX] {
            let id = UserId::new(number).unwrap();
            assert_eq!(from_column::<UserId>(&to_column(id)).unwrap(), id);
        }
        assert!(from_column::<UserId>(&0).is_err());
    }

    #[test]
    fn round_trips_id_lists_in_order() {
        for list in [vec![], vec![5], vec![3, u64::MAX, 1]] {
            let ids: Vec<_> = list.into_iter().map(|number| RoleId::new(number).unwrap()).collect();
            assert_eq!(from_text::<RoleId>(&to_text(&ids)).unwrap(), ids);
        }
        assert!(from_text::<RoleId>("1  2").is_err());
    }

    #[test]
    fn pads_lists_to_powers_of_two() {
        for (values, padded) in [
            (vec![7], vec![7]),
            (vec![1, 2, 3], vec![1, 2, 3, 3]),
            (vec![1, 2, 3, 4], vec![1, 2, 3, 4]),
            ((1..=10).collect(), (1..=16).map(|value: i64| value.min(10)).collect()),
        ] {
            let padded: Vec<_> = padded.into_iter().map(Value::from).collect();
            assert_eq!(any_of(&values).1, padded);
        }
    }
}
