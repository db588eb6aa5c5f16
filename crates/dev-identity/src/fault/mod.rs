//! Ways to fail, and when.

mod acting;

pub(crate) use self::acting::act_out;

use crate::Route;
use serde::Deserialize;
use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// A way to fail.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Fault {
    /// The request is read and the connection closed, without a byte in answer.
    Closed,
    /// The request is read and never answered.
    Silent,
    /// The answer comes one byte at a time.
    Drip {
        /// Which part of it.
        part: DripPart,
        /// How long there is nothing between two bytes.
        #[serde(rename = "every_ms", deserialize_with = "milliseconds")]
        every: Duration,
    },
    /// A status and a body that belongs to it.
    Status {
        /// Usually one of an error.
        status: u16,
        /// What kind of body.
        body: ErrorBody,
    },
    /// The page that a content delivery network puts in front of a banned address.
    BanPage {
        /// 403 or 429.
        status: u16,
    },
    /// One request too many.
    Limited {
        /// How long to wait, in seconds.
        retry_after: f64,
        /// Whether that holds for everything.
        global: bool,
    },
    /// Success, and a body that is not JSON although it says so.
    NotJson,
    /// Success, and JSON of another shape.
    WrongShape,
    /// Success, and a body of this many bytes.
    Huge {
        /// How many.
        bytes: u64,
        /// Whether `Content-Length` says so.
        announced: bool,
    },
    /// Success, and a small body that would become huge if it were decompressed.
    Bomb,
    /// Another place to ask.
    Redirect {
        /// Where to.
        to: String,
    },
    /// An error in the words of OAuth, such as `invalid_grant` or `invalid_client`.
    OauthError {
        /// The value of `error` in the answer.
        error: String,
    },
    /// Success, and a body that ends before it should.
    Truncated,
    /// This body.
    Body {
        /// With this status; 200 where none is said.
        #[serde(default = "success")]
        status: u16,
        /// The body, sent as JSON.
        json: serde_json::Value,
    },
    /// Something that is not HTTP.
    Garbage,
}

/// What comes slowly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DripPart {
    /// Already the status line.
    Head,
    /// Only the body.
    Body,
}

/// What an error's body is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorBody {
    /// The platform's own `{"message", "code"}`.
    Json,
    /// A page.
    Html,
    /// Nothing.
    Empty,
}

/// A fault, for how often, and whether what was asked is done all the same.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct PlannedFault {
    /// The way to fail.
    #[serde(flatten)]
    pub fault: Fault,
    /// For the next so many calls; until it is cleared where there is no number.
    #[serde(default)]
    pub times: Option<u32>,
    /// Whether what was asked is done and only the answer is spoilt: a code is spent, a token rotated.
    #[serde(default)]
    pub processed: bool,
}

const fn success() -> u16 {
    200
}

fn milliseconds<'de, D: serde::Deserializer<'de>>(source: D) -> Result<Duration, D::Error> {
    u64::deserialize(source).map(Duration::from_millis)
}

/// What is planned for each route, in order.
#[derive(Debug, Default)]
pub(crate) struct Faults(Mutex<HashMap<Route, VecDeque<PlannedFault>>>);

impl Faults {
    pub(crate) fn plan(&self, route: Route, fault: PlannedFault) {
        self.planned().entry(route).or_default().push_back(fault);
    }

    pub(crate) fn clear(&self, route: Route) {
        self.planned().remove(&route);
    }

    pub(crate) fn clear_all(&self) {
        self.planned().clear();
    }

    /// The fault for the next call of this route, counted off.
    pub(crate) fn next(&self, route: Route) -> Option<PlannedFault> {
        let mut planned = self.planned();
        let queue = planned.get_mut(&route)?;
        while queue.front().is_some_and(|fault| fault.times == Some(0)) {
            queue.pop_front();
        }
        let fault = queue.front_mut()?;
        fault.times = fault.times.map(|times| times.saturating_sub(1));
        Some(fault.clone())
    }

    fn planned(&self) -> MutexGuard<'_, HashMap<Route, VecDeque<PlannedFault>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(fault: Fault, times: Option<u32>) -> PlannedFault {
        PlannedFault { fault, times, processed: false }
    }

    #[test]
    fn faults_are_met_in_order_as_often_as_planned() {
        let faults = Faults::default();
        faults.plan(Route::User, planned(Fault::Silent, Some(2)));
        faults.plan(Route::User, planned(Fault::Closed, None));
        let met: Vec<_> = (0..4).map(|_| faults.next(Route::User).map(|fault| fault.fault)).collect();
        let expected = [Fault::Silent, Fault::Silent, Fault::Closed, Fault::Closed].map(Some);
        assert_eq!(met, expected);
        assert_eq!(faults.next(Route::Token), None);
        faults.clear(Route::User);
        assert_eq!(faults.next(Route::User), None);
    }

    #[test]
    fn a_fault_is_read_from_json() {
        let text = r#"{"kind": "drip", "part": "body", "every_ms": 20, "times": 3, "processed": true}"#;
        let expected = PlannedFault {
            fault: Fault::Drip { part: DripPart::Body, every: Duration::from_millis(20) },
            times: Some(3),
            processed: true,
        };
        assert_eq!(serde_json::from_str::<PlannedFault>(text).unwrap(), expected);
        assert!(serde_json::from_str::<PlannedFault>(r#"{"kind": "unheard_of"}"#).is_err());
    }
}
