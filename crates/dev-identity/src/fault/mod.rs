//! Kinds of faults, and their schedule.

mod acting;

pub(crate) use self::acting::{RawConnection, respond_with};

use crate::Route;
use serde::Deserialize;
use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

/// A kind of fault.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Fault {
    /// Reads the request and closes the connection without a response.
    Closed,
    /// Reads the request and never responds.
    Silent,
    /// Sends the response one byte at a time.
    Drip {
        /// The part that is slow.
        part: DripPart,
        /// The interval between two bytes.
        #[serde(rename = "every_ms", deserialize_with = "milliseconds")]
        every: Duration,
    },
    /// A status with a matching body.
    Status {
        /// Usually an error status.
        status: u16,
        /// The kind of body.
        body: ErrorBody,
    },
    /// The block page that a content delivery network shows a banned address.
    BanPage {
        /// 403 or 429.
        status: u16,
    },
    /// A rate limit response.
    Limited {
        /// The delay to announce, in seconds.
        retry_after: f64,
        /// Whether the limit is global.
        global: bool,
    },
    /// Success with a body that claims to be JSON but is not.
    NotJson,
    /// Success with JSON of another shape.
    WrongShape,
    /// Success with a body of this size.
    Huge {
        /// The size, in bytes.
        bytes: u64,
        /// Whether `Content-Length` announces it.
        announced: bool,
    },
    /// Success with a small compressed body that is huge when decompressed.
    Bomb,
    /// A redirect.
    Redirect {
        /// The target.
        to: String,
    },
    /// An OAuth error, such as `invalid_grant` or `invalid_client`.
    OauthError {
        /// The value of `error` in the response.
        error: String,
    },
    /// Success with a truncated body.
    Truncated,
    /// A given body.
    Body {
        /// The status; 200 by default.
        #[serde(default = "success")]
        status: u16,
        /// The body, sent as JSON.
        json: serde_json::Value,
    },
    /// Bytes that are not HTTP.
    Garbage,
}

/// The slow part of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DripPart {
    /// From the status line on.
    Head,
    /// Only the body.
    Body,
}

/// The body of an error response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorBody {
    /// The platform's own `{"message", "code"}`.
    Json,
    /// An HTML page.
    Html,
    /// No body.
    Empty,
}

/// A fault with its repetitions.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct PlannedFault {
    /// The kind of fault.
    #[serde(flatten)]
    pub(crate) fault: Fault,
    /// For this many calls; `None` until it is cleared.
    #[serde(default)]
    pub(crate) times: Option<u32>,
}

const fn success() -> u16 {
    200
}

fn milliseconds<'de, D: serde::Deserializer<'de>>(source: D) -> Result<Duration, D::Error> {
    u64::deserialize(source).map(Duration::from_millis)
}

/// The planned faults of each route, in order.
#[derive(Debug, Default)]
pub(crate) struct Faults(pub(crate) HashMap<Route, VecDeque<PlannedFault>>);

impl Faults {
    /// Takes the fault for the next call of this route.
    pub(crate) fn next(&mut self, route: Route) -> Option<Fault> {
        let queue = self.0.get_mut(&route)?;
        while queue.front().is_some_and(|fault| fault.times == Some(0)) {
            queue.pop_front();
        }
        let fault = queue.front_mut()?;
        fault.times = fault.times.map(|times| times.saturating_sub(1));
        Some(fault.fault.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_occur_in_order_as_often_as_planned() {
        let planned = [(Fault::Silent, Some(2)), (Fault::Closed, None)];
        let planned = planned.map(|(fault, times)| PlannedFault { fault, times });
        let mut faults = Faults([(Route::User, planned.into())].into());
        let met: Vec<_> = (0..4).map(|_| faults.next(Route::User)).collect();
        assert_eq!(met, [Fault::Silent, Fault::Silent, Fault::Closed, Fault::Closed].map(Some));
        assert_eq!(faults.next(Route::Token), None);
    }

    #[test]
    fn parses_faults_from_json() {
        let text = r#"{"kind": "drip", "part": "body", "every_ms": 20, "times": 3}"#;
        let fault = Fault::Drip { part: DripPart::Body, every: Duration::from_millis(20) };
        let expected = PlannedFault { fault, times: Some(3) };
        assert_eq!(serde_json::from_str::<PlannedFault>(text).unwrap(), expected);
    }
}
