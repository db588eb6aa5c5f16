//! The results of the simulation, and their assertions.

use companion_dev_identity::Route;
use companion_domain::model::Timestamp;
use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

/// The platform bans an address after 10,000 refused calls in ten minutes. This is a small fraction.
const MAX_REFUSED: u64 = 1000;
const TEN_MINUTES: Duration = Duration::from_secs(600);
/// On a busy machine a refresh may take longer than a request waits. Maximum of such responses, per thousand.
const MAX_LATE: u64 = 10;
/// Number of wrong responses that are printed in full.
const MAX_PRINTED: usize = 10;

/// The results of the simulation.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) visits: u64,
    pub(super) limited: u64,
    /// Responses that were older than required, but fresh on retry, although no other node was fetching the list.
    pub(super) late: u64,
    pub(super) sign_outs: u64,
    pub(super) withdrawals: u64,
    pub(super) deaths: u64,
    pub(super) troubles: u64,
    pub(super) ended_rightly: u64,
    pub(super) most_at_once: usize,
    answers: BTreeMap<(Route, u16), u64>,
    /// The count at the events of the last ten minutes.
    refused_at: VecDeque<(Timestamp, u64)>,
    most_refused: u64,
    wrongs: u64,
    printed: Vec<String>,
}

impl Findings {
    /// Records a wrong response.
    pub(super) fn wrong(&mut self, what: String) {
        self.wrongs += 1;
        if self.printed.len() < MAX_PRINTED {
            self.printed.push(what);
        }
    }

    /// Records the platform's responses so far.
    pub(super) fn answered(&mut self, answers: BTreeMap<(Route, u16), u64>, now: Timestamp) {
        self.answers = answers;
        let total = self.refused();
        self.refused_at.push_back((now, total));
        while self.refused_at.front().is_some_and(|(at, _)| now.since(*at) > TEN_MINUTES) {
            self.refused_at.pop_front();
        }
        let before = self.refused_at.front().map_or(total, |(_, before)| *before);
        self.most_refused = self.most_refused.max(total - before);
    }

    /// Returns how many responses count against our address.
    fn refused(&self) -> u64 {
        let counts = |(_, status): &(Route, u16)| matches!(status, 401 | 403 | 429);
        self.answers.iter().filter(|(answer, _)| counts(answer)).map(|(_, times)| times).sum()
    }

    /// Panics if a result violates the expectations.
    pub(super) fn verdict(&self) {
        assert_eq!(self.wrongs, 0, "{:#?}", self.printed);
        assert_eq!(self.most_at_once, 1, "refreshes in flight for one user");
        assert!(self.most_refused < MAX_REFUSED, "{} refused calls in ten minutes", self.most_refused);
        assert!(self.late * 1000 <= self.visits * MAX_LATE, "{} of {} were late", self.late, self.visits);
        // A simulation in which nothing happens proves nothing.
        for (what, times) in [
            ("troubles", self.troubles),
            ("answers of 503", self.limited),
            ("sign-outs", self.sign_outs),
            ("grants taken back", self.withdrawals),
            ("deaths", self.deaths),
            ("sessions that ended", self.ended_rightly),
            ("refused calls", self.refused()),
        ] {
            assert!(times > 0, "there were no {what}");
        }
    }
}
