//! What names a row within its table.

use crate::connection::AnyBackend;
use diesel::{
    QueryResult,
    query_builder::AstPass,
    sql_types::{BigInt, Binary, Text},
};
use std::fmt;

/// How long a part of a key is when it is shown, should it be what makes no sense.
const MAX_SHOWN: usize = 100;

/// What names a row within its table.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RowKey(KeyPart, Option<KeyPart>);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum KeyPart {
    Id(i64),
    Text(String),
    Bytes(Vec<u8>),
}

impl RowKey {
    pub(super) fn parts(&self) -> impl Iterator<Item = &KeyPart> {
        let Self(one, other) = self;
        [one].into_iter().chain(other)
    }
}

impl KeyPart {
    /// Adds it to a statement.
    pub(super) fn bind<'b>(&'b self, mut out: AstPass<'_, 'b, AnyBackend>) -> QueryResult<()> {
        match self {
            Self::Id(id) => out.push_bind_param::<BigInt, _>(id),
            Self::Text(text) => out.push_bind_param::<Text, _>(text),
            Self::Bytes(bytes) => out.push_bind_param::<Binary, _>(bytes),
        }
    }
}

impl From<i64> for KeyPart {
    fn from(id: i64) -> Self {
        Self::Id(id)
    }
}

impl From<&str> for KeyPart {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<&[u8]> for KeyPart {
    fn from(bytes: &[u8]) -> Self {
        Self::Bytes(bytes.to_owned())
    }
}

impl From<&i64> for KeyPart {
    fn from(id: &i64) -> Self {
        Self::Id(*id)
    }
}

impl From<&String> for KeyPart {
    fn from(text: &String) -> Self {
        Self::Text(text.clone())
    }
}

impl From<&Vec<u8>> for KeyPart {
    fn from(bytes: &Vec<u8>) -> Self {
        Self::Bytes(bytes.clone())
    }
}

impl<A: Into<KeyPart>> From<(A,)> for RowKey {
    fn from((one,): (A,)) -> Self {
        Self(one.into(), None)
    }
}

impl<A: Into<KeyPart>, B: Into<KeyPart>> From<(A, B)> for RowKey {
    fn from((one, other): (A, B)) -> Self {
        Self(one.into(), Some(other.into()))
    }
}

impl fmt::Display for KeyPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => write!(f, "{}", id.cast_unsigned()),
            Self::Text(text) => {
                let mut characters = text.chars().take(MAX_SHOWN).flat_map(char::escape_debug);
                characters.try_for_each(|char| write!(f, "{char}"))
            }
            Self::Bytes(bytes) => bytes.iter().take(MAX_SHOWN).try_for_each(|byte| write!(f, "{byte:02x}")),
        }
    }
}

impl fmt::Display for RowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(one, other) = self;
        write!(f, "{one}")?;
        other.iter().try_for_each(|other| write!(f, " {other}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_told_on_one_line_of_bounded_length() {
        let text = |text: &str| text.to_owned();
        assert_eq!(RowKey::from((&-1,)).to_string(), u64::MAX.to_string());
        assert_eq!(RowKey::from((&1, &2)).to_string(), "1 2");
        assert_eq!(RowKey::from((&7, &text("a\nb"))).to_string(), "7 a\\nb");
        assert_eq!(RowKey::from((&vec![0, 255],)).to_string(), "00ff");
        assert_eq!(RowKey::from((&"a".repeat(5000),)).to_string().len(), MAX_SHOWN);
    }
}
