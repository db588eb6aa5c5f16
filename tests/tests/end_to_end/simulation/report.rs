//! The results of the simulation as a table, and their assertions.

use super::Size;
use companion_dev_identity::Route;
use companion_domain::model::Timestamp;
use std::{
    collections::{BTreeMap, VecDeque},
    fmt,
    time::{Duration, Instant},
};

/// The platform bans an address after 10,000 refused calls in ten minutes. This is a small fraction.
const MAX_REFUSED: u64 = 1000;
const TEN_MINUTES: Duration = Duration::from_secs(600);
/// On a busy machine a refresh may take longer than a request waits. Maximum of such responses, per thousand.
const MAX_LATE: u64 = 10;
/// Number of wrong responses that are printed in full.
const MAX_PRINTED: usize = 10;

/// The results of the simulation.
#[derive(Default)]
pub(super) struct Findings {
    size: Size,
    begun: Option<Instant>,
    took: Duration,
    pub(super) visits: u64,
    pub(super) limited: u64,
    /// Responses that were older than required, but fresh on retry.
    late: u64,
    /// Late responses while the other node was fetching the list.
    elsewhere: u64,
    pub(super) sign_ins: u64,
    pub(super) sign_ins_refused: u64,
    pub(super) sign_outs: u64,
    pub(super) withdrawals: u64,
    pub(super) deaths: u64,
    pub(super) troubles: u64,
    pub(super) ended_rightly: u64,
    pub(super) ended_wrongly: u64,
    pub(super) most_at_once: usize,
    /// Users without a session whose grant the platform still honours.
    pub(super) left_behind: usize,
    ages: Vec<Duration>,
    ages_while_well: Vec<Duration>,
    ages_elsewhere: Vec<Duration>,
    answers: BTreeMap<(Route, u16), u64>,
    refused: VecDeque<(Timestamp, u64)>,
    most_refused: u64,
    wrongs: u64,
    printed: Vec<String>,
}

impl Findings {
    pub(super) fn new(size: Size) -> Self {
        Self { size, begun: Some(Instant::now()), ..Self::default() }
    }

    /// Records a list of this age.
    pub(super) fn shown(&mut self, age: Duration) {
        self.ages.push(age);
    }

    /// Records a list that was as fresh as required.
    pub(super) fn shown_fresh(&mut self, age: Duration) {
        self.ages_while_well.push(age);
    }

    /// Records a list that was older than required, or missing.
    pub(super) fn late(&mut self, age: Option<Duration>, fetched_elsewhere: bool) {
        let (count, ages) = if fetched_elsewhere {
            (&mut self.elsewhere, &mut self.ages_elsewhere)
        } else {
            (&mut self.late, &mut self.ages_while_well)
        };
        *count += 1;
        ages.extend(age);
    }

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
        let total = self.refused_of(None);
        self.refused.push_back((now, total));
        while self.refused.front().is_some_and(|(at, _)| now.since(*at) > TEN_MINUTES) {
            self.refused.pop_front();
        }
        let before = self.refused.front().map_or(total, |(_, before)| *before);
        self.most_refused = self.most_refused.max(total - before);
    }

    pub(super) fn finish(mut self) -> Self {
        self.took = self.begun.unwrap().elapsed();
        self.ages.sort();
        self.ages_while_well.sort();
        self.ages_elsewhere.sort();
        self
    }

    /// Returns how many responses count against our address.
    fn refused_of(&self, route: Option<Route>) -> u64 {
        let of = |answered: &Route, status: &u16| {
            route.is_none_or(|route| route == *answered) && matches!(status, 401 | 403 | 429)
        };
        self.answers.iter().filter(|((route, status), _)| of(route, status)).map(|(_, times)| times).sum()
    }

    /// Panics if a result violates the expectations.
    pub(super) fn verdict(&self) {
        assert_eq!(self.wrongs, 0, "{:#?}", self.printed);
        assert_eq!(self.ended_wrongly, 0);
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
            ("refused calls", self.refused_of(None)),
        ] {
            assert!(times > 0, "there were no {what}");
        }
    }
}

/// Returns a quantile of sorted ages, in thousandths.
fn at(ages: &[Duration], thousandths: usize) -> String {
    let last = ages.len().saturating_sub(1);
    ages.get(last * thousandths / 1000).map_or("-".to_owned(), |age| format!("{:.1} s", age.as_secs_f64()))
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Size { users, days, seed } = self.size;
        let mut row = |name: &str, value: String| writeln!(f, "{name:<46} {value}");
        row("users, simulated days, seed", format!("{users}, {days}, {seed}"))?;
        row("took", format!("{:.1} s", self.took.as_secs_f64()))?;
        row("visits of /guilds", self.visits.to_string())?;
        row("sign-ins, refused for trouble", format!("{}, {}", self.sign_ins, self.sign_ins_refused))?;
        row("sign-outs, grants taken back", format!("{}, {}", self.sign_outs, self.withdrawals))?;
        row("troubles of the platform, dead nodes", format!("{}, {}", self.troubles, self.deaths))?;
        for route in [Route::Token, Route::User, Route::Guilds, Route::Revoke] {
            let of_route = self.answers.iter().filter(|((of, _), _)| *of == route);
            let calls: u64 = of_route.map(|(_, times)| times).sum();
            let refused = self.refused_of(Some(route));
            row(&format!("calls to {route:?}, refused").to_lowercase(), format!("{calls}, {refused}"))?;
        }
        row("refused calls in any ten minutes, at most", self.most_refused.to_string())?;
        row("refreshes in flight for a user, at most", self.most_at_once.to_string())?;
        for (when, ages) in [
            ("all", &self.ages),
            ("platform well", &self.ages_while_well),
            ("other node at it", &self.ages_elsewhere),
        ] {
            let value = format!("{}, {}, {}, {}", ages.len(), at(ages, 500), at(ages, 990), at(ages, 1000));
            row(&format!("lists, {when}: number, p50, p99, max"), value)?;
        }
        row("late, right when asked again", format!("{}, other node at it {}", self.late, self.elsewhere))?;
        row("answers of 503", self.limited.to_string())?;
        row("users gone whose grant lives on", self.left_behind.to_string())?;
        row("sessions ended rightly, wrongly", format!("{}, {}", self.ended_rightly, self.ended_wrongly))?;
        row("wrong in any way", self.wrongs.to_string())
    }
}
