//! The bot's history by days (UTC).

use crate::{
    model::{Period, PeriodSubject, Timestamp},
    named::named,
};
use std::{ops::Range, slice::from_ref, time::Duration};

/// Number of days shown, today included.
pub const DAYS: usize = 90;
const DAY: i64 = 86_400_000_000;

/// A day of the bot's history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Day {
    /// Midnight, at which it begins.
    pub start: Timestamp,
    /// Its state.
    pub state: DayState,
    /// How long all clusters were silent.
    pub down: Duration,
    /// How long some clusters were silent or shards were missing.
    pub partial: Duration,
}

named! {
    /// The state of a day.
    DayState {
        /// The bot was watched for most of the day, and nothing happened.
        Ok = "ok",
        /// Some clusters were silent, or shards were missing.
        Partial = "partial",
        /// All clusters were silent for a time.
        Down = "down",
        /// For most of the day, the service did not run or knew of no bot.
        Unknown = "unknown",
    }
}

/// Returns the last [`DAYS`] days, the oldest first. Only times at which the bot was watched count. The last of those
/// lasts until now, because this process is watching.
#[must_use]
pub fn days<'a>(periods: impl IntoIterator<Item = &'a Period>, now: Timestamp) -> Vec<Day> {
    let now = now.micros();
    let (mut watched, mut silent, mut partial) = (Vec::new(), Vec::new(), Vec::new());
    for period in periods {
        let range = period.began_at.micros()..period.ended_at.map_or(now, Timestamp::micros).min(now);
        match period.subject {
            PeriodSubject::Watched => watched.push(range),
            PeriodSubject::Silent => silent.push(range),
            PeriodSubject::Incident | PeriodSubject::Cluster(_) => partial.push(range),
        }
    }
    let mut watched = union(watched);
    let first = watched.first().map_or(now, |range| range.start);
    if let Some(last) = watched.last_mut() {
        last.end = now;
    }
    let down = overlap(&watched, &union(silent));
    let affected = overlap(&watched, &union(partial.into_iter().chain(down.clone()).collect()));
    let today = now.div_euclid(DAY) * DAY;
    let day = |back: i64| {
        let start = today - back * DAY;
        let whole = start..start + DAY;
        let within = |ranges: &[Range<i64>]| length(&overlap(ranges, from_ref(&whole)));
        let (known, down, affected) = (within(&watched), within(&down), within(&affected));
        // Neither the future nor the time before the first watch was missed.
        let expected = now.min(start + DAY).saturating_sub(first.max(start)).max(0);
        let state = match (down, affected) {
            (1.., _) => DayState::Down,
            (_, 1..) => DayState::Partial,
            _ if known == 0 || known < expected / 2 => DayState::Unknown,
            _ => DayState::Ok,
        };
        let lasting = |micros: i64| Duration::from_micros(micros.unsigned_abs());
        let (start, down, partial) = (Timestamp::from_micros(start), lasting(down), lasting(affected - down));
        Day { start, state, down, partial }
    };
    (0..DAYS as i64).rev().map(day).collect()
}

/// Merges overlapping ranges. The result is in ascending order.
fn union(mut ranges: Vec<Range<i64>>) -> Vec<Range<i64>> {
    ranges.retain(|range| range.start <= range.end);
    ranges.sort_unstable_by_key(|range| range.start);
    let mut merged: Vec<Range<i64>> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

/// Returns what two lists of disjoint ranges have in common.
fn overlap(some: &[Range<i64>], others: &[Range<i64>]) -> Vec<Range<i64>> {
    let pairs = some.iter().flat_map(|one| others.iter().map(move |other| (one, other)));
    let common = pairs.map(|(one, other)| one.start.max(other.start)..one.end.min(other.end));
    common.filter(|range| range.start < range.end).collect()
}

fn length(ranges: &[Range<i64>]) -> i64 {
    ranges.iter().map(|range| range.end - range.start).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = DAY / 24;
    /// Noon of day 100.
    const NOON: i64 = 100 * DAY + 12 * HOUR;

    fn period(subject: &str, hours: Range<i64>, is_open: bool) -> Period {
        let at = |hour: i64| Timestamp::from_micros(NOON + hour * HOUR);
        Period {
            subject: subject.parse().unwrap(),
            began_at: at(hours.start),
            ended_at: (!is_open).then(|| at(hours.end)),
            reason: None,
            alert_due: None,
        }
    }

    /// Returns the states of the last days, the latest first, and the hours of today.
    fn judged(periods: &[Period]) -> (Vec<&'static str>, [u64; 2]) {
        let days = days(periods, Timestamp::from_micros(NOON));
        let today = days.last().unwrap();
        let hours = [today.down, today.partial].map(|length| length.as_secs() / 3600);
        (days.iter().rev().take(3).map(|day| day.state.as_str()).collect(), hours)
    }

    #[test]
    fn without_a_watch_everything_is_unknown() {
        assert_eq!(judged(&[]), (vec!["unknown"; 3], [0, 0]));
        let silent = period("silent", -50..0, true);
        assert_eq!(judged(&[silent]), (vec!["unknown"; 3], [0, 0]), "down only while it was watched");
    }

    #[test]
    fn a_day_is_judged_from_the_first_watch_on() {
        let begun = period("watched", -1..-1, false);
        assert_eq!(judged(&[begun]), (vec!["ok", "unknown", "unknown"], [0, 0]));
    }

    #[test]
    fn gaps_are_unknown_once_they_are_most_of_the_day() {
        let watched = [period("watched", -60..-31, false), period("watched", -2..0, false)];
        // Today 2 of 12 hours, yesterday 5 of 24.
        assert_eq!(judged(&watched), (vec!["unknown", "unknown", "ok"], [0, 0]));
    }

    #[test]
    fn silence_of_all_outweighs_that_of_some() {
        let watched = period("watched", -60..0, false);
        let periods = [
            watched,
            period("cluster:a", -6..-2, false),
            period("silent", -4..-3, false),
            period("incident", -4..-3, false),
            period("cluster:b", -40..-38, false),
        ];
        assert_eq!(judged(&periods), (vec!["down", "ok", "partial"], [1, 3]));
        let ends_at_midnight = [periods[0].clone(), period("silent", -14..-12, false)];
        assert_eq!(judged(&ends_at_midnight).0, ["ok", "down", "ok"]);
    }

    #[test]
    fn times_of_a_wrong_clock_change_no_day() {
        let ahead = period("watched", 5000..5001, false);
        let backwards = period("silent", Range { start: 10, end: -10 }, false);
        assert_eq!(judged(&[period("watched", -60..0, false), ahead, backwards]).0, vec!["ok"; 3]);
    }
}
