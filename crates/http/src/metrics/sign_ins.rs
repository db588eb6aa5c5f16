//! How sign-ins end.

use super::{MetricsSource, MetricsText};
use crate::{audit::SUCCESS, error::ApiError};
use std::sync::atomic::{AtomicU64, Ordering};

/// Sign-ins by outcome: success, or the word of the refusal.
#[derive(Debug)]
pub(crate) struct SignInMetrics(Vec<(&'static str, AtomicU64)>);

impl SignInMetrics {
    /// Counts for sign-ins that can fail with these errors.
    pub(crate) fn new(errors: &[ApiError]) -> Self {
        let mut outcomes: Vec<_> = errors.iter().map(|error| error.problem().word).collect();
        outcomes.push(SUCCESS);
        outcomes.sort_unstable();
        outcomes.dedup();
        Self(outcomes.into_iter().map(|outcome| (outcome, AtomicU64::new(0))).collect())
    }

    /// A sign-in ended.
    pub(crate) fn ended<T>(&self, outcome: &Result<T, ApiError>) {
        let word = outcome.as_ref().map_or_else(|error| error.problem().word, |_| SUCCESS);
        if let Some((_, count)) = self.0.iter().find(|(known, _)| *known == word) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl MetricsSource for SignInMetrics {
    fn write(&self, text: &mut MetricsText) {
        for (outcome, count) in &self.0 {
            let count = count.load(Ordering::Relaxed);
            text.counter("companion_sign_ins_total", "Sign-ins by outcome.", &[("outcome", outcome)], count);
        }
    }
}
