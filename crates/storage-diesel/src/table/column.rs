//! Conversions between values and columns.

use super::row::Value;
use companion_domain::{
    model::{
        ClusterId, Colour, Entries, FeedbackId, GuildId, Headline, MemberCount, Name, NoticeId, NoticeKind,
        NoticeText, OutlineChannel, OutlineRole, PeriodSubject, Prose, Rating, RoleBindings, RoleId, RoleKey,
        RoleSet, Slots, StaffPermission, StaffPermissions, SubscribedGuilds, Timestamp, Title, UserId,
        WebUrl,
    },
    port::{GrantVersion, ShardSlice},
    session::{TokenHash, UserAgent},
    settings::{ChangedField, Origin, Problem, Schema, Values},
};
use serde::{Serialize, de::DeserializeOwned};
use std::{collections::BTreeMap, fmt::Display, str::FromStr};

/// Maximum number of values in one statement. Databases limit it, and a longer list is not faster.
pub(crate) const MAX_VALUES: usize = 500;

/// A value that fills one column.
pub(crate) trait Field: Sized {
    /// The type of the column.
    type Column;

    fn column(&self) -> Self::Column;

    /// Returns `None` if the column holds no valid value.
    fn of_column(column: &Self::Column) -> Option<Self>;
}

/// Implements [`Field`] with two closures, from the value and from the column.
macro_rules! fields {
    ($($($field:ty),+ => $column:ty: $to:expr, $of:expr;)+) => {
        $($(impl Field for $field {
            type Column = $column;

            fn column(&self) -> $column {
                let to: fn(&Self) -> $column = $to;
                to(self)
            }

            fn of_column(column: &$column) -> Option<Self> {
                let of: fn(&$column) -> Option<Self> = $of;
                of(column)
            }
        })+)+
    };
}

fields! {
    // The key of a table's only row.
    () => i64: |()| 1, |column| (*column == 1).then_some(());
    bool => bool: |value| *value, |column| Some(*column);
    i32 => i64: |number| (*number).into(), |column| (*column).try_into().ok();
    u64 => i64: |number| number.cast_signed(), |column| (*column).try_into().ok();
    GuildId, UserId => i64: |id| id.get().cast_signed(), |column| Self::new(column.cast_unsigned()).ok();
    MemberCount, Slots => i64: |count| count.get().into(), |column| Self::new((*column).try_into().ok()?).ok();
    GrantVersion => i64: |version| version.0.cast_signed(), |column| Some(Self(column.cast_unsigned()));
    Rating => i64: |rating| rating.stars().into(), |column| Self::new(*column).ok();
    Timestamp => i64: |time| time.micros(), |column| Some(Self::from_micros(*column));
    TokenHash => Vec<u8>:
        |id| id.as_bytes().to_vec(), |column| Some(Self::from_bytes(column.as_slice().try_into().ok()?));
    ClusterId, Colour, FeedbackId, Headline, Name, NoticeId, NoticeKind, NoticeText, Origin, PeriodSubject, Prose,
    Title, UserAgent, WebUrl => String: |text| text.to_string(), |column| column.parse().ok();
    RoleSet => String: |roles| to_text(roles.as_slice()), |column| Self::new(from_text(column)?).ok();
    SubscribedGuilds => String: |guilds| to_text(guilds.as_slice()), |column| Self::new(from_text(column)?).ok();
    StaffPermissions => String:
        |grants| grants.iter().map(StaffPermission::as_str).collect::<Vec<_>>().join(" "),
        |column| column.split_terminator(' ').map(|grant| grant.parse().ok()).collect();
    Schema, Values, Vec<ChangedField>, Vec<Problem> => String: to_json, |column| from_json(column);
    // Ids are strings, as usual for platform ids in JSON. Keys are sorted.
    RoleBindings => String:
        |bindings| {
            let ids = |roles: &RoleSet| roles.as_slice().iter().map(RoleId::to_string).collect::<Vec<_>>();
            let bindings: BTreeMap<_, _> = bindings.iter().map(|(key, roles)| (key.as_str(), ids(roles))).collect();
            // Sorted already, so no `Value` is needed to sort it. Maps of text always serialize.
            serde_json::to_string(&bindings).unwrap_or_default()
        },
        |column| {
            let binding = |(key, ids): (String, Vec<String>)| {
                let ids: Result<_, _> = ids.iter().map(|id| id.parse()).collect();
                Some((key.parse::<RoleKey>().ok()?, RoleSet::new(ids.ok()?).ok()?))
            };
            let bindings = from_json::<BTreeMap<_, _>>(column)?.into_iter().map(binding);
            Some(Self::new(bindings.collect::<Option<Vec<_>>>()?))
        };
    Entries<OutlineChannel> => String:
        |channels| {
            let parts = |it: &OutlineChannel| (it.id.to_string(), it.name.to_string(), it.kind.as_str());
            to_json(&channels.as_slice().iter().map(parts).collect::<Vec<_>>())
        },
        |column| {
            let entry = |(id, name, kind): (String, String, String)| {
                Some(OutlineChannel { id: id.parse().ok()?, name: name.parse().ok()?, kind: kind.parse().ok()? })
            };
            Self::new(from_json::<Vec<_>>(column)?.into_iter().map(entry).collect::<Option<_>>()?).ok()
        };
    Entries<OutlineRole> => String:
        |roles| {
            let parts = |it: &OutlineRole| (it.id.to_string(), it.name.to_string(), it.colour.column());
            to_json(&roles.as_slice().iter().map(parts).collect::<Vec<_>>())
        },
        |column| {
            let entry = |(id, name, colour): (String, String, Option<String>)| {
                let colour = Field::of_column(&colour)?;
                Some(OutlineRole { id: id.parse().ok()?, name: name.parse().ok()?, colour })
            };
            Self::new(from_json::<Vec<_>>(column)?.into_iter().map(entry).collect::<Option<_>>()?).ok()
        };
}

impl<T: Field> Field for Option<T> {
    type Column = Option<T::Column>;

    fn column(&self) -> Option<T::Column> {
        self.as_ref().map(T::column)
    }

    fn of_column(column: &Option<T::Column>) -> Option<Self> {
        match column {
            Some(column) => T::of_column(column).map(Some),
            None => Some(None),
        }
    }
}

/// Ranges of signed columns, in the order of the unsigned platform ids that they hold. No id is 0, but a row may have
/// it; that row is counted as unreadable.
pub(crate) const ID_RANGES: [(i64, i64); 2] = [(0, i64::MAX), (i64::MIN, -1)];

/// Returns the SQL condition for guilds of a shard. The right shift is arithmetic, so the filled bits are masked.
pub(crate) fn in_shard(column: &str, slice: ShardSlice) -> String {
    format!("(({column} >> 22) & 4398046511103) % {} = {}", slice.count(), slice.index())
}

fn to_json(value: &impl Serialize) -> String {
    serde_json::json!(value).to_string()
}

fn from_json<T: DeserializeOwned>(column: &str) -> Option<T> {
    serde_json::from_str(column).ok()
}

/// Joins several ids into one column, in order.
fn to_text(ids: &[impl Display]) -> String {
    let words: Vec<_> = ids.iter().map(ToString::to_string).collect();
    words.join(" ")
}

/// Parses a column of several ids.
fn from_text<I: FromStr>(text: &str) -> Option<Vec<I>> {
    text.split_terminator(' ').map(|id| id.parse().ok()).collect()
}

/// Repeats the last value up to a power of two, so that there are few distinct statements to prepare.
pub(crate) fn padded<T: Clone>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut values: Vec<_> = values.collect();
    if let Some(last) = values.last().cloned() {
        values.resize(values.len().next_power_of_two(), last);
    }
    values
}

/// Returns the condition that a column is one of these values, of which there must be at least one, and the values to
/// bind.
pub(crate) fn any_of(values: &[i64]) -> (String, Vec<Value>) {
    let values = padded(values.iter().map(|value| Value::from(*value)));
    (format!("IN ({})", vec!["?"; values.len()].join(", ")), values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_ids_beyond_i64_max() {
        for number in [1, u64::MAX / 2, 1 << 63, u64::MAX] {
            let id = UserId::new(number).unwrap();
            assert_eq!(UserId::of_column(&id.column()), Some(id));
        }
        assert_eq!(UserId::of_column(&0), None);
    }

    #[test]
    fn round_trips_id_lists_in_order() {
        for list in [vec![], vec![5], vec![3, u64::MAX, 1]] {
            let ids: Vec<_> = list.into_iter().map(|number| RoleId::new(number).unwrap()).collect();
            assert_eq!(from_text::<RoleId>(&to_text(&ids)).unwrap(), ids);
        }
        assert_eq!(from_text::<RoleId>("1  2"), None);
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
