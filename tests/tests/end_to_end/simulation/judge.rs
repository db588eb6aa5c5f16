//! Whether an answer is right, going by the model.

use super::{
    REFRESH_AFTER, STALE_FOR,
    person::{Life, Person},
    report::Findings,
    visit::{Answer, Visit},
};
use companion_domain::model::Timestamp;
use std::{collections::BTreeSet, time::Duration};

/// What is known at the moment of the answer.
#[derive(Clone, Copy)]
pub(super) struct Judge {
    pub(super) now: Timestamp,
    /// Whether the platform has been well for long enough that nothing is left of its last trouble.
    pub(super) well: bool,
}

/// Whether an answer was good enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// A list as fresh as it must be.
    Fresh,
    /// A list of this age, which is older than it should be, or none: asking again must help.
    Late(Option<Duration>),
    /// An answer of which nothing more is expected.
    Settled,
}

impl Judge {
    /// Judges an answer, and lets the model learn from it.
    pub(super) fn hear(
        self,
        person: &mut Person,
        visit: &Visit,
        answer: &Answer,
        findings: &mut Findings,
    ) -> Verdict {
        findings.visits += 1;
        match answer {
            Answer::Shown { guilds, age } => self.shown(person, visit, guilds, *age, findings),
            Answer::Limited => self.limited(person, visit, findings),
            Answer::Unknown => self.unknown(person, visit, findings),
            Answer::SignedOut => self.signed_out(person, findings),
            Answer::Other(what) => {
                findings.wrong(format!("user {} was answered: {what}", person.id));
                Verdict::Settled
            }
        }
    }

    /// The session was let in, whatever came of it.
    fn admitted(self, person: &mut Person, visit: &Visit, findings: &mut Findings) {
        let session = person.sessions.iter().find(|session| session.token == visit.token);
        if visit.over || session.is_some_and(|session| session.life(self.now) == Life::Over) {
            findings.wrong(format!("a session of user {} that was over came back", person.id));
        }
        person.used(&visit.token, self.now);
    }

    /// Whether a list of this user must be fresh.
    fn must_be_fresh(self, person: &Person) -> bool {
        self.well && self.now >= person.claimed_until
    }

    fn shown(
        self,
        person: &mut Person,
        visit: &Visit,
        guilds: &BTreeSet<u64>,
        age: Duration,
        findings: &mut Findings,
    ) -> Verdict {
        let fetched_at = self.now.before(age);
        findings.shown(age);
        self.admitted(person, visit, findings);
        if age >= STALE_FOR {
            findings.wrong(format!("user {} was shown a list that was {age:?} old", person.id));
        }
        if guilds != person.guilds_at(fetched_at) {
            findings.wrong(format!("user {} was shown {guilds:?} as of {fetched_at:?}", person.id));
        }
        if person.withdrawn.is_some_and(|since| fetched_at > since) {
            findings.wrong(format!("user {} was shown a list without a grant", person.id));
        }
        person.listed_at = person.listed_at.max(Some(fetched_at));
        match self.must_be_fresh(person) {
            true if age >= REFRESH_AFTER => Verdict::Late(Some(age)),
            true => {
                findings.shown_fresh(age);
                Verdict::Fresh
            }
            false => Verdict::Settled,
        }
    }

    fn limited(self, person: &mut Person, visit: &Visit, findings: &mut Findings) -> Verdict {
        findings.limited += 1;
        self.admitted(person, visit, findings);
        if let Some(age) = person.listed_at.map(|at| self.now.since(at)).filter(|age| *age < STALE_FOR) {
            findings.wrong(format!("user {} was refused a list that was {age:?} old", person.id));
        }
        if self.must_be_fresh(person) { Verdict::Late(None) } else { Verdict::Settled }
    }

    fn unknown(self, person: &mut Person, visit: &Visit, findings: &mut Findings) -> Verdict {
        let life = person.sessions.iter().find(|session| session.token == visit.token);
        match life.map(|session| session.life(self.now)) {
            Some(Life::Alive) => {
                findings.ended_wrongly += 1;
                findings.wrong(format!("a session of user {} ended for no reason: {life:?}", person.id));
            }
            Some(Life::Over) => findings.ended_rightly += 1,
            Some(Life::Either) => {
                // Another node may know of a later use, so it may still be let in there.
                findings.ended_rightly += 1;
                person.lose(&visit.token);
                return Verdict::Settled;
            }
            // It was over before, or another answer of the same moment has told that it is.
            None => {}
        }
        person.end(&visit.token);
        Verdict::Settled
    }

    fn signed_out(self, person: &mut Person, findings: &mut Findings) -> Verdict {
        let ended: Vec<_> = person.sessions.iter().map(|session| session.token.clone()).collect();
        if person.withdrawn.is_some() {
            findings.ended_rightly += ended.len() as u64;
        } else if !ended.is_empty() {
            findings.ended_wrongly += ended.len() as u64;
            findings.wrong(format!("user {} was signed out although the grant stands", person.id));
        }
        ended.iter().for_each(|token| person.end(token));
        person.listed_at = None;
        Verdict::Settled
    }
}
