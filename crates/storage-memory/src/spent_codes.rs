//! Codes that have been used.

use companion_domain::model::{CodeFingerprint, Timestamp};
use std::collections::{BTreeSet, HashMap};

/// Maximum number of marks. Beyond it, the mark that expires first is dropped early. The platform rejects a used code
/// anyway, and codes live much shorter than marks.
const MAX_MARKS: usize = 262_144;

/// Marks by code, and in order of expiry.
#[derive(Default)]
pub(crate) struct Marks {
    until: HashMap<CodeFingerprint, Timestamp>,
    by_end: BTreeSet<(Timestamp, CodeFingerprint)>,
}

impl Marks {
    pub(crate) fn spend(&mut self, code: CodeFingerprint, now: Timestamp, until: Timestamp) -> bool {
        while let Some((end, old)) = self.by_end.first().copied().filter(|(end, _)| *end <= now) {
            self.drop_mark(end, old);
        }
        while let Some((end, odd)) = self.by_end.last().copied().filter(|(end, _)| *end > until.horizon()) {
            self.drop_mark(end, odd);
        }
        if self.until.contains_key(&code) {
            return false;
        }
        if self.until.len() >= MAX_MARKS
            && let Some((_, oldest)) = self.by_end.pop_first()
        {
            self.until.remove(&oldest);
        }
        self.until.insert(code, until);
        self.by_end.insert((until, code));
        true
    }

    fn drop_mark(&mut self, end: Timestamp, code: CodeFingerprint) {
        self.by_end.remove(&(end, code));
        self.until.remove(&code);
    }

    pub(crate) fn restore(&mut self, code: CodeFingerprint) {
        if let Some(until) = self.until.get(&code).copied() {
            self.drop_mark(until, code);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(number: usize) -> CodeFingerprint {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&number.to_le_bytes());
        CodeFingerprint::from_bytes(bytes)
    }

    fn at(seconds: usize) -> Timestamp {
        Timestamp::from_micros(i64::try_from(seconds).unwrap() * 1_000_000)
    }

    #[test]
    fn expired_marks_are_dropped() {
        let mut marks = Marks::default();
        for second in 0..1000 {
            assert!(marks.spend(code(second), at(second), at(second + 10)));
        }
        assert_eq!((marks.until.len(), marks.by_end.len()), (10, 10));
    }

    #[test]
    fn drops_the_marks_that_expire_first_beyond_the_maximum() {
        let mut marks = Marks::default();
        let until = |number: usize| Timestamp::from_micros(600_000_000 + i64::try_from(number).unwrap());
        for number in 0..MAX_MARKS + 2 {
            assert!(marks.spend(code(number), at(0), until(number)));
        }
        assert_eq!((marks.until.len(), marks.by_end.len()), (MAX_MARKS, MAX_MARKS));
        assert!(!marks.spend(code(MAX_MARKS + 1), at(0), at(600)));
        assert!(!marks.spend(code(2), at(0), at(600)));
        assert!(marks.spend(code(0), at(0), at(600)));
    }
}
