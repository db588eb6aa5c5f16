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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_full_but_the_last_and_leave_nothing_out() {
        let used: Vec<_> = (0..1001)
            .map(|number: i64| (TokenHash::from_bytes([7; 32]), Timestamp::from_micros(number)))
            .collect();
        let batches: Vec<_> = Uses::batches(&used).map(Uses::as_slice).collect();
        assert_eq!(batches.iter().map(|batch| batch.len()).collect::<Vec<_>>(), [500, 500, 1]);
        assert_eq!(batches.concat(), used);
        assert_eq!(Uses::batches(&[]).count(), 0);
        assert_eq!(Uses::one(&used[7]).as_slice(), &used[7..8]);
    }
}
