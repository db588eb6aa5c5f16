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

type Label<'a> = (&'static str, &'a str);

/// Writes a counter that has a sample for each outcome.
fn by_outcome<const N: usize>(
    text: &mut MetricsText,
    (name, help): (&'static str, &'static str),
    label: Option<Label<'_>>,
    counts: [(&str, u64); N],
) {
    for (outcome, count) in counts {
        let labels: Vec<_> = label.into_iter().chain([("outcome", outcome)]).collect();
        text.counter(name, help, &labels, count);
    }
}

/// Statistics of a Diesel store.
pub(super) struct StorageMetrics(pub(super) Arc<DieselStorage>);

impl MetricsSource for StorageMetrics {
    fn write(&self, text: &mut MetricsText) {
        let now = self.0.statistics();
        text.counter("companion_storage_commits_total", "Transactions committed.", &[], now.commits);
        text.counter("companion_storage_writes_total", "Writes in committed transactions.", &[], now.writes);
        let help = "Transactions that failed.";
        text.counter("companion_storage_failed_commits_total", help, &[], now.failed_commits);
        let help = "Writes refused because the queue was full or the wait too long.";
        text.counter("companion_storage_refused_writes_total", help, &[], now.refused_writes);
        for (table, count) in self.0.unreadable_rows() {
            let help = "Stored rows that could not be read and were left out.";
            text.counter("companion_storage_unreadable_rows_total", help, &[("table", table)], count);
        }
        let [length, capacity] = [now.queue_length, now.queue_capacity].map(|writes| writes as f64);
        text.gauge("companion_storage_queue_length", "Writes in the queue.", &[], length);
        text.gauge("companion_storage_queue_capacity", "Capacity of the write queue.", &[], capacity);
        let [readers, idle] = [now.readers, now.readers_idle].map(f64::from);
        text.gauge("companion_storage_readers", "Connections that read.", &[], readers);
        text.gauge("companion_storage_readers_idle", "Idle connections among them.", &[], idle);
        let help = "1 if every write is refused until a restart.";
        text.gauge("companion_storage_given_up", help, &[], f64::from(u8::from(now.has_given_up)));
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
            let help = "Calls to the identity provider by outcome; a limited one may not have gone out.";
            let outcomes = [
                ("success", counts.succeeded),
                ("refused", counts.refused),
                ("limited", counts.limited),
                ("unreachable", counts.unreachable),
                ("timed_out", counts.timed_out),
                ("failed", counts.failed),
            ];
            by_outcome(text, ("companion_identity_calls_total", help), Some(route), outcomes);
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

/// Statistics of what every service has, whatever its adapters are.
pub(crate) struct ServiceMetrics {
    pub(super) cache: Arc<Cache>,
    pub(super) dispatcher: Arc<ChangeDispatcher>,
    pub(super) refresh: Arc<RefreshList>,
    pub(super) build: BuildInfo,
    pub(super) started_at: Timestamp,
    /// A background task counts the sessions, because counting queries the store.
    pub(super) sessions: Mutex<Option<u64>>,
}

impl ServiceMetrics {
    /// Sets the number of sessions, or removes it if it is unknown.
    pub(crate) fn counted(&self, sessions: Option<u64>) {
        *self.sessions.lock().unwrap_or_else(PoisonError::into_inner) = sessions;
    }
}

impl MetricsSource for ServiceMetrics {
    fn write(&self, text: &mut MetricsText) {
        for copies in self.cache.statistics() {
            let label = ("copies", copies.name);
            let [entries, bytes] = [copies.entries as f64, copies.bytes as f64];
            text.gauge("companion_cache_entries", "Cached entries.", &[label], entries);
            let help = "Approximate memory of the cache, in bytes.";
            text.gauge("companion_cache_bytes", help, &[label], bytes);
            let family = ("companion_cache_requests_total", "Cache look-ups, by hit or miss.");
            by_outcome(text, family, Some(label), [("hit", copies.hits), ("miss", copies.misses)]);
        }
        let seconds = |age: Option<Duration>| age.map_or(f64::INFINITY, |age| age.as_secs_f64());
        let ages = self.dispatcher.ages();
        let lag = ages.iter().map(|(_, age)| seconds(*age)).fold(0.0, f64::max);
        let help = "All changes older than this are visible; +Inf until everything is loaded.";
        text.gauge("companion_feed_lag_seconds", help, &[], lag);
        for (part, age) in ages {
            let help = "Time since a subscriber was last known to be up to date.";
            text.gauge("companion_state_age_seconds", help, &[("part", part)], seconds(age));
        }
        let family = ("companion_list_refreshes_total", "Refreshes of guild lists, by outcome.");
        by_outcome(text, family, None, self.refresh.counts());
        if let Some(count) = *self.sessions.lock().unwrap_or_else(PoisonError::into_inner) {
            text.gauge("companion_sessions", "Live sessions, as of the last count.", &[], count as f64);
        }
        let BuildInfo { name, branch, commit } = &self.build;
        let labels =
            [("version", name.as_str()), ("branch", branch.as_str()), ("commit", commit.sha.as_str())];
        text.gauge("companion_build_info", "Always 1; the labels describe the build.", &labels, 1.0);
        let _ = write_process(self.started_at, text);
    }
}

/// Linux counts CPU time in ticks of a hundredth of a second, on every architecture that Rust supports.
const TICKS_PER_SECOND: f64 = 100.0;

/// Writes the resources of this process, under the names of the Prometheus client libraries. Returns `None` without
/// `/proc`.
fn write_process(started_at: Timestamp, text: &mut MetricsText) -> Option<()> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The second field is the program's name in parentheses, which may contain spaces.
    let mut fields = stat.rsplit_once(") ")?.1.split(' ').skip(11);
    let mut ticks = || fields.next()?.parse::<f64>().ok();
    let cpu_seconds = (ticks()? + ticks()?) / TICKS_PER_SECOND;
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let bytes = |name: &str| {
        let value = status.lines().find_map(|line| line.strip_prefix(name))?;
        Some(value.trim().strip_suffix(" kB")?.parse::<f64>().ok()? * 1024.0)
    };
    let [resident, virtual_memory] = [bytes("VmRSS:")?, bytes("VmSize:")?];
    // One of them is the descriptor of the folder itself.
    let descriptors = fs::read_dir("/proc/self/fd").ok()?.count().saturating_sub(1) as f64;
    text.counter("process_cpu_seconds_total", "User and system CPU time, in seconds.", &[], cpu_seconds);
    text.gauge("process_resident_memory_bytes", "Resident memory, in bytes.", &[], resident);
    text.gauge("process_virtual_memory_bytes", "Virtual memory, in bytes.", &[], virtual_memory);
    text.gauge("process_open_fds", "Open file descriptors.", &[], descriptors);
    let help = "Start of the process, in seconds since 1970.";
    text.gauge("process_start_time_seconds", help, &[], started_at.micros() as f64 / 1e6);
    // Without a limit there is no maximum to show.
    let most = getrlimit(Resource::Nofile).current?;
    text.gauge("process_max_fds", "Limit of open file descriptors.", &[], most as f64);
    Some(())
}
