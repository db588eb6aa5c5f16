//! The model of each user, and the judgement of responses by it.

use super::{
    Chance, HOUR, IDLE, LIFETIME, REFRESH_AFTER, STALE_FOR,
    nodes::{Answer, GUILDS, Visit},
    report::Findings,
};
use crate::served::owned;
use companion_dev_identity::AccountGuild;
use companion_domain::model::Timestamp;
use std::{collections::BTreeSet, fmt, time::Duration};

/// Session uses are recorded by the minute and written by the hour, so the idle end may come up to this much too early.
const IDLE_TOLERANCE: Duration = HOUR.saturating_add(Duration::from_secs(120));
/// Tokens of ended sessions that are retried later.
const RETRIED_TOKENS: usize = 5;

/// A session that the user has or had.
#[derive(Clone)]
pub(super) struct Session {
    pub(super) token: String,
    created_at: Timestamp,
    used_at: Timestamp,
    /// Until then only one node may know a use close to the idle end, until it is written.
    doubtful_until: Timestamp,
}

/// Whether a session is alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Life {
    Alive,
    Over,
    /// Too close to the limit to decide.
    Either,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "made {:?}, used {:?}", self.created_at, self.used_at)
    }
}

impl Session {
    pub(super) fn life(&self, now: Timestamp) -> Life {
        let unused = now.since(self.used_at);
        if now.since(self.created_at) >= LIFETIME || unused >= IDLE {
            Life::Over
        } else if unused + IDLE_TOLERANCE >= IDLE || now < self.doubtful_until {
            Life::Either
        } else {
            Life::Alive
        }
    }
}

/// A user in the model.
pub(super) struct Person {
    pub(super) id: u64,
    pub(super) sessions: Vec<Session>,
    /// Tokens that must never work again.
    pub(super) ended: Vec<String>,
    /// Since when the platform has revoked the grant, if it has.
    pub(super) withdrawn: Option<Timestamp>,
    /// When the newest list was fetched that the service certainly has.
    pub(super) listed_at: Option<Timestamp>,
    /// Until then the claim of a dead node prevents refreshes.
    pub(super) claimed_until: Timestamp,
    /// The guilds that the user owned, with the time of each change, newest last.
    history: Vec<(Timestamp, BTreeSet<u64>)>,
}

impl Person {
    pub(super) fn new(id: u64, chance: &Chance, now: Timestamp) -> Self {
        let guilds = (0..chance.number(0..7)).map(|_| chance.number(1..GUILDS + 1)).collect();
        Self {
            id,
            sessions: Vec::new(),
            ended: Vec::new(),
            withdrawn: None,
            listed_at: None,
            claimed_until: now,
            history: vec![(now, guilds)],
        }
    }

    /// Records a new session with a new grant.
    pub(super) fn signed_in(&mut self, token: String, now: Timestamp, with_list: bool) {
        self.sessions.push(Session { token, created_at: now, used_at: now, doubtful_until: now });
        self.withdrawn = None;
        self.claimed_until = now;
        self.listed_at = with_list.then_some(now);
    }

    /// Forgets a session whose state is unknown.
    pub(super) fn lose(&mut self, token: &str) {
        self.sessions.retain(|session| session.token != token);
    }

    /// Ends a session.
    pub(super) fn end(&mut self, token: &str) {
        self.lose(token);
        self.ended.push(token.to_owned());
        if self.ended.len() > RETRIED_TOKENS {
            self.ended.remove(0);
        }
    }

    /// Records a use of a session.
    pub(super) fn used(&mut self, token: &str, now: Timestamp) {
        for session in self.sessions.iter_mut().filter(|session| session.token == token) {
            if session.life(now) == Life::Either {
                session.doubtful_until = now.after(IDLE_TOLERANCE);
            }
            session.used_at = now;
        }
    }

    /// Joins or leaves one guild.
    pub(super) fn change_guilds(&mut self, chance: &Chance, now: Timestamp) {
        let mut guilds = self.guilds_at(now).clone();
        let guild = chance.number(1..GUILDS + 1);
        if !guilds.remove(&guild) && guilds.len() < 20 {
            guilds.insert(guild);
        }
        self.history.push((now, guilds));
    }

    /// Returns the guilds that the user owned at this time. Of simultaneous changes, the last counts.
    pub(super) fn guilds_at(&self, time: Timestamp) -> &BTreeSet<u64> {
        let before = self.history.iter().rev().find(|(since, _)| *since <= time);
        &before.unwrap_or(&self.history[0]).1
    }

    /// Returns the guilds as the platform lists them.
    pub(super) fn memberships(&self) -> Vec<AccountGuild> {
        self.history.last().unwrap().1.iter().copied().map(owned).collect()
    }
}

/// What is known when a response arrives.
#[derive(Clone, Copy)]
pub(super) struct Judge {
    pub(super) now: Timestamp,
    /// Whether the platform has been well for so long that its last trouble has no effect any more.
    pub(super) well: bool,
}

/// The judgement of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// A list as fresh as required.
    Fresh,
    /// A list older than required, or none: retrying must help.
    Late,
    /// A final response.
    Settled,
}

impl Judge {
    /// Judges a response, and updates the model.
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

    /// Records that the session was accepted, whatever the response.
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
            true if age >= REFRESH_AFTER => Verdict::Late,
            true => Verdict::Fresh,
            false => Verdict::Settled,
        }
    }

    fn limited(self, person: &mut Person, visit: &Visit, findings: &mut Findings) -> Verdict {
        findings.limited += 1;
        self.admitted(person, visit, findings);
        if let Some(age) = person.listed_at.map(|at| self.now.since(at)).filter(|age| *age < STALE_FOR) {
            findings.wrong(format!("user {} was refused a list that was {age:?} old", person.id));
        }
        if self.must_be_fresh(person) { Verdict::Late } else { Verdict::Settled }
    }

    fn unknown(self, person: &mut Person, visit: &Visit, findings: &mut Findings) -> Verdict {
        let life = person.sessions.iter().find(|session| session.token == visit.token);
        match life.map(|session| session.life(self.now)) {
            Some(Life::Alive) => {
                findings.wrong(format!("a session of user {} ended for no reason: {life:?}", person.id));
            }
            Some(Life::Over) => findings.ended_rightly += 1,
            Some(Life::Either) => {
                // Another node may know of a later use, so the session may still be accepted there.
                findings.ended_rightly += 1;
                person.lose(&visit.token);
                return Verdict::Settled;
            }
            // It had ended before, or another response of the same moment has reported it.
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
            findings.wrong(format!("user {} was signed out although the grant stands", person.id));
        }
        ended.iter().for_each(|token| person.end(token));
        person.listed_at = None;
        Verdict::Settled
    }
}
