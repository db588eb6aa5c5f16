//! Numbers for those who watch: what was answered and how fast, in the text format of Prometheus.
//!
//! Counting is a few additions to atomics, and what is counted is fixed when a listener is made: no request can add a
//! label. Whoever else has numbers to show implements [`MetricsSource`].

mod histogram;
mod requests;
mod text;

pub(crate) use self::requests::{RequestMetrics, SignInMetrics};
pub use self::text::MetricsText;

use std::sync::Arc;

/// Something that has numbers to show.
pub trait MetricsSource: Send + Sync {
    /// Writes them as they are now.
    fn write(&self, text: &mut MetricsText);
}

/// What several have to show.
impl MetricsSource for Vec<Arc<dyn MetricsSource>> {
    fn write(&self, text: &mut MetricsText) {
        self.iter().for_each(|source| source.write(text));
    }
}
