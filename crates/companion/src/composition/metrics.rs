//! Metrics of the adapters. Adapters return plain numbers; names and units are defined here.

use companion_cache::Cache;
use companion_domain::{
    model::Timestamp,
    usecase::{ChangeDispatcher, RefreshList},
};
use companion_http::{BuildInfo, MetricsSource, MetricsText};
use companion_identity_oauth2::{BreakerState, OauthIdentity};
use companion_storage_diesel::DieselStorage;
use rustix::process::{Resource, getrlimit};
use std::{
    fs,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// Statistics of a Diesel store.
pub(super) struct StorageMetrics(pub(super) Arc<DieselStorage>);

impl MetricsSource for StorageMetrics {
    fn write(&self, text: &mut MetricsText) {
        let now = self.0.statistics();
        for (name, help, value) in [
            ("companion_storage_commits_total", "Transactions committed.", now.commits),
            ("companion_storage_writes_total", "Writes in committed transactions.", now.writes),
            ("companion_storage_failed_commits_total", "Transactions that failed.", now.failed_commits),
            (
                "companion_storage_refused_writes_total",
                "Writes refused because the queue was full or the wait too long.",
                now.refused_writes,
            ),
        ] {
            text.counter(name, help, &[], value);
        }
        for (table, count) in self.0.unreadable_rows() {
            let help = "Stored rows that could not be read and were left out.";
            text.counter("companion_storage_unreadable_rows_total", help, &[("table", table)], count);
        }
        for (name, help, value) in [
            ("companion_storage_queue_length", "Writes in the queue.", now.queue_length as f64),
            ("companion_storage_queue_capacity", "Capacity of the write queue.", now.queue_capacity as f64),
            ("companion_storage_readers", "Connections that read.", f64::from(now.readers)),
            ("companion_storage_readers_idle", "Idle connections among them.", f64::from(now.readers_idle)),
            (
                "companion_storage_given_up",
                "1 if every write is refused until a restart.",
                f64::from(u8::from(now.has_given_up)),
            ),
        ] {
            text.gauge(name, help, &[], value);
        }
    }
}

/// Statistics of the cache.
pub(super) struct CacheMetrics(pub(super) Arc<Cache>);

impl MetricsSource for CacheMetrics {
    fn write(&self, text: &mut MetricsText) {
        for copies in self.0.statistics() {
            let labels = [("copies", copies.name)];
            let [entries, bytes] = [copies.entries as f64, copies.bytes as f64];
            text.gauge("companion_cache_entries", "Cached entries.", &labels, entries);
            text.gauge("companion_cache_bytes", "Approximate memory of the cache, in bytes.", &labels, bytes);
            let help = "Cache look-ups, by hit or miss.";
            for (outcome, count) in [("hit", copies.hits), ("miss", copies.misses)] {
                let [copies] = labels;
                text.counter("companion_cache_requests_total", help, &[copies, ("outcome", outcome)], count);
            }
        }
    }
}

/// Statistics of calls to the identity provider.
pub(super) struct IdentityMetrics(pub(super) Arc<OauthIdentity>);

impl MetricsSource for IdentityMetrics {
    fn write(&self, text: &mut MetricsText) {
        let now = self.0.statistics();
        for (route, counts) in now.routes {
            let route = ("route", route.name());
            let sent = "Calls sent to the identity provider.";
            text.counter("companion_identity_sent_total", sent, &[route], counts.sent);
            for (outcome, count) in [
                ("success", counts.succeeded),
                ("refused", counts.refused),
                ("limited", counts.limited),
                ("unreachable", counts.unreachable),
                ("timed_out", counts.timed_out),
                ("failed", counts.failed),
            ] {
                let help = "Calls to the identity provider by outcome; a limited one may not have gone out.";
                text.counter("companion_identity_calls_total", help, &[route, ("outcome", outcome)], count);
            }
            for (state, name) in [
                (BreakerState::Closed, "closed"),
                (BreakerState::Open, "open"),
                (BreakerState::HalfOpen, "trying"),
            ] {
                let help = "1 for the current state of the breaker.";
                let stands = f64::from(u8::from(counts.breaker == state));
                text.gauge("companion_identity_breaker", help, &[route, ("state", name)], stands);
            }
        }
        let answers = "Responses of 401, 403 and 429 that count towards the budget now.";
        text.gauge("companion_identity_refused_answers", answers, &[], now.refused_responses as f64);
        let codes = "Refused codes that count towards the budget now.";
        text.gauge("companion_identity_refused_codes", codes, &[], now.bad_codes as f64);
        for (budget, left) in [("answers", now.refused_responses_left), ("codes", now.bad_codes_left)] {
            let help = "Refusals left before calls are held back.";
            text.gauge("companion_identity_budget_left", help, &[("budget", budget)], left as f64);
        }
        let unreadable =
            "Guilds that were left out of lists because the identity provider's row could not be read.";
        let name = "companion_identity_unreadable_guilds_total";
        text.counter(name, unreadable, &[], now.unreadable_guilds);
    }
}

/// How far this process is behind the change feed.
pub(super) struct DispatcherMetrics(pub(super) Arc<ChangeDispatcher>);

impl MetricsSource for DispatcherMetrics {
    fn write(&self, text: &mut MetricsText) {
        let seconds = |age: Option<Duration>| age.map_or(f64::INFINITY, |age| age.as_secs_f64());
        let ages = self.0.ages();
        let lag = ages.iter().map(|(_, age)| seconds(*age)).fold(0.0, f64::max);
        let help = "All changes older than this are visible; +Inf until everything is loaded.";
        text.gauge("companion_feed_lag_seconds", help, &[], lag);
        for (part, age) in ages {
            let help = "Time since a subscriber was last known to be up to date.";
            text.gauge("companion_state_age_seconds", help, &[("part", part)], seconds(age));
        }
    }
}

/// Outcomes of guild list refreshes.
pub(super) struct RefreshMetrics(pub(super) Arc<RefreshList>);

impl MetricsSource for RefreshMetrics {
    fn write(&self, text: &mut MetricsText) {
        let counts = self.0.counts();
        for (outcome, count) in [
            ("stored", counts.stored),
            ("replaced", counts.replaced),
            ("signed_out", counts.signed_out),
            ("pending", counts.pending),
            ("limited", counts.limited),
            ("failed", counts.failed),
            ("store_failed", counts.store_failed),
        ] {
            let help = "Refreshes of guild lists, by outcome.";
            text.counter("companion_list_refreshes_total", help, &[("outcome", outcome)], count);
        }
    }
}

/// The number of sessions. A background task counts them, because counting queries the store.
#[derive(Debug, Default)]
pub(crate) struct SessionMetrics(Mutex<Option<u64>>);

impl SessionMetrics {
    pub(crate) fn counted(&self, count: Option<u64>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = count;
    }
}

impl MetricsSource for SessionMetrics {
    fn write(&self, text: &mut MetricsText) {
        if let Some(count) = *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            let help = "Live sessions, as of the last count.";
            text.gauge("companion_sessions", help, &[], count as f64);
        }
    }
}

/// Resources of this process, under the names of the Prometheus client libraries. Empty without `/proc`.
pub(super) struct ProcessMetrics {
    pub(super) started_at: Timestamp,
}

impl MetricsSource for ProcessMetrics {
    fn write(&self, text: &mut MetricsText) {
        let Some(usage) = ProcessUsage::read() else { return };
        let help = "User and system CPU time, in seconds.";
        text.counter("process_cpu_seconds_total", help, &[], usage.cpu_seconds);
        // Without a limit there is no maximum to show.
        let most = getrlimit(Resource::Nofile).current.map(|limit| limit as f64);
        for (name, help, value) in [
            ("process_resident_memory_bytes", "Resident memory, in bytes.", Some(usage.resident)),
            ("process_virtual_memory_bytes", "Virtual memory, in bytes.", Some(usage.virtual_memory)),
            ("process_open_fds", "Open file descriptors.", Some(usage.descriptors)),
            ("process_max_fds", "Limit of open file descriptors.", most),
            (
                "process_start_time_seconds",
                "Start of the process, in seconds since 1970.",
                Some(self.started_at.micros() as f64 / 1e6),
            ),
        ] {
            if let Some(value) = value {
                text.gauge(name, help, &[], value);
            }
        }
    }
}

struct ProcessUsage {
    cpu_seconds: f64,
    resident: f64,
    virtual_memory: f64,
    descriptors: f64,
}

impl ProcessUsage {
    /// Linux counts CPU time in ticks of a hundredth of a second, on every architecture that Rust supports.
    const TICKS_PER_SECOND: f64 = 100.0;

    fn read() -> Option<Self> {
        let stat = fs::read_to_string("/proc/self/stat").ok()?;
        // The second field is the program's name in parentheses, which may contain spaces.
        let mut fields = stat.rsplit_once(") ")?.1.split(' ').skip(11);
        let mut ticks = || fields.next()?.parse::<f64>().ok();
        let cpu_seconds = (ticks()? + ticks()?) / Self::TICKS_PER_SECOND;
        let status = fs::read_to_string("/proc/self/status").ok()?;
        let bytes = |name: &str| {
            let value = status.lines().find_map(|line| line.strip_prefix(name))?;
            Some(value.trim().strip_suffix(" kB")?.parse::<f64>().ok()? * 1024.0)
        };
        // One of them is the descriptor of the folder itself.
        let descriptors = fs::read_dir("/proc/self/fd").ok()?.count().saturating_sub(1) as f64;
        Some(Self { cpu_seconds, resident: bytes("VmRSS:")?, virtual_memory: bytes("VmSize:")?, descriptors })
    }
}

/// The running version, as a label.
pub(super) struct BuildMetrics(pub(super) BuildInfo);

impl MetricsSource for BuildMetrics {
    fn write(&self, text: &mut MetricsText) {
        let BuildInfo { name, branch, sha, .. } = &self.0;
        let labels = [("version", name.as_str()), ("branch", branch.as_str()), ("commit", sha.as_str())];
        text.gauge("companion_build_info", "Always 1; the labels describe the build.", &labels, 1.0);
    }
}
