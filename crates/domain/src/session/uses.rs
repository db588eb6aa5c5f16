//! That sessions were used, as it is written back.

use super::TokenHash;
use crate::model::Timestamp;

/// Sessions and when they were last used, few enough for one write: nobody waits long for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Uses<'a>(&'a [(TokenHash, Timestamp)]);

impl<'a> Uses<'a> {
    /// How many are written at once.
    pub const MOST: usize = 500;

    /// One use.
    #[must_use]
    pub const fn one(used: &'a (TokenHash, Timestamp)) -> Self {
        Self(std::slice::from_ref(used))
    }

    /// Any number of uses, in batches.
    pub fn batches(used: &'a [(TokenHash, Timestamp)]) -> impl Iterator<Item = Self> {
        used.chunks(Self::MOST).map(Self)
    }

    /// The uses, of which there is at least one.
    #[must_use]
    pub const fn as_slice(self) -> &'a [(TokenHash, Timestamp)] {
        self.0
    }
}
