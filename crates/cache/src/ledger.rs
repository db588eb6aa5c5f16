//! What copies were told lately, so that a load knows whether a change has overtaken it.

use crate::key::{Doubt, Key};
use companion_domain::change::Kind;
use std::collections::VecDeque;

/// So many are remembered. A load that takes longer than that is not kept.
const REMEMBERED: usize = 8192;

/// The keys of the last changes that copies were told of, numbered.
#[derive(Default)]
pub(crate) struct Ledger {
    told: VecDeque<Doubt>,
    /// The number of the next one.
    next: u64,
}

impl Ledger {
    /// How far it is.
    pub(crate) const fn position(&self) -> u64 {
        self.next
    }

    /// Notes that these may be different from now on.
    pub(crate) fn tell(&mut self, key: Key) {
        self.push(Doubt::Key(key));
    }

    /// Notes that anything of this kind may be.
    pub(crate) fn tell_every(&mut self, kind: Kind) {
        self.push(Doubt::Every(kind));
    }

    fn push(&mut self, entry: Doubt) {
        if self.told.len() == REMEMBERED {
            self.told.pop_front();
        }
        self.told.push_back(entry);
        self.next += 1;
    }

    /// Whether something was told since `position` that concerns whoever loads these keys and kinds.
    pub(crate) fn has_overtaken(
        &self,
        position: u64,
        concerns: impl Fn(&Key) -> bool,
        kinds: impl Fn(Kind) -> bool,
    ) -> bool {
        let since = usize::try_from(self.next.saturating_sub(position)).unwrap_or(usize::MAX);
        if since > self.told.len() {
            return true;
        }
        self.told.iter().rev().take(since).any(|entry| match entry {
            Doubt::Key(key) => concerns(key),
            Doubt::Every(kind) => kinds(*kind),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use companion_domain::model::{GuildId, UserId};

    fn user(number: u64) -> Key {
        Key::User(UserId::new(number).unwrap())
    }

    #[test]
    fn only_what_was_told_since_and_concerns_the_load_overtakes_it() {
        let mut ledger = Ledger::default();
        ledger.tell(user(1));
        let begun = ledger.position();
        let overtaken =
            |ledger: &Ledger| ledger.has_overtaken(begun, |key| *key == user(1), |kind| kind == Kind::Guild);
        assert!(!overtaken(&ledger), "it was told before");
        ledger.tell(user(2));
        ledger.tell(Key::Guild(GuildId::new(1).unwrap()));
        ledger.tell_every(Kind::Session);
        assert!(!overtaken(&ledger), "that concerns others");
        let mut named = Ledger { told: ledger.told.clone(), next: ledger.next };
        named.tell(user(1));
        assert!(overtaken(&named));
        ledger.tell_every(Kind::Guild);
        assert!(overtaken(&ledger));
    }

    #[test]
    fn a_load_that_began_before_everything_that_is_remembered_is_overtaken() {
        let mut ledger = Ledger::default();
        for _ in 0..REMEMBERED {
            ledger.tell(user(2));
        }
        assert!(!ledger.has_overtaken(0, |key| *key == user(1), |_| false));
        ledger.tell(user(2));
        assert!(ledger.has_overtaken(0, |key| *key == user(1), |_| false));
    }
}
