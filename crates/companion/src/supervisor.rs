//! The interface to a supervisor such as systemd: inherited listeners, and notifications of readiness, shutdown and
//! liveness.
//!
//! Everything here is driven by the supervisor's environment variables (`LISTEN_FDS`, `NOTIFY_SOCKET`,
//! `WATCHDOG_USEC`). Without them this module does nothing.

use crate::error::{ProgramError, refused};
use std::{fmt::Display, io, net::TcpListener, time::Duration};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpStream, ToSocketAddrs},
    time::timeout,
};

/// Listeners inherited from the supervisor, by the names that its unit gives them.
#[derive(Debug, Default)]
pub struct PassedListeners {
    /// For the public API.
    pub public: Option<TcpListener>,
    /// For the management API.
    pub management: Option<TcpListener>,
    /// For the dashboard.
    pub dashboard: Option<TcpListener>,
}

const NAMES: &str = "name each socket of the unit public, management or dashboard, with FileDescriptorName=, and each name once";

impl PassedListeners {
    /// Takes the inherited listeners. A second call returns none.
    #[cfg(target_os = "linux")]
    pub fn take() -> Result<Self, ProgramError> {
        let names = std::env::var("LISTEN_FDNAMES").unwrap_or_default();
        let mut given = listenfd::ListenFd::from_env();
        let mut listeners = Vec::new();
        for place in 0..given.len() {
            let listener = given.take_tcp_listener(place);
            let fix = "use TCP addresses in the unit, with ListenStream=";
            listeners.extend(listener.map_err(|error| unusable(error, fix))?);
        }
        Self::named(&names, listeners)
    }

    /// Returns no listeners: socket activation is supported on Linux only.
    #[cfg(not(target_os = "linux"))]
    pub fn take() -> Result<Self, ProgramError> {
        Ok(Self::default())
    }

    /// Assigns listeners to their names, which are separated by colons. A single unnamed listener is the public API's.
    #[cfg(target_os = "linux")]
    fn named(names: &str, listeners: Vec<TcpListener>) -> Result<Self, ProgramError> {
        let names: Vec<_> = match names {
            "" if listeners.len() == 1 => vec!["public"],
            names => names.split(':').collect(),
        };
        let mut passed = Self::default();
        for (place, listener) in listeners.into_iter().enumerate() {
            let name = names.get(place).copied().unwrap_or_default();
            let slot = match name {
                "public" => &mut passed.public,
                "management" => &mut passed.management,
                "dashboard" => &mut passed.dashboard,
                _ => {
                    let problem = format_args!("a listener is called \"{name}\", which is unknown");
                    return Err(unusable(problem, NAMES));
                }
            };
            if slot.replace(listener).is_some() {
                return Err(unusable(format_args!("two listeners are called \"{name}\""), NAMES));
            }
        }
        Ok(passed)
    }
}

/// Creates the error of an inherited listener that cannot be used.
#[cfg(target_os = "linux")]
fn unusable(problem: impl Display, fix: &str) -> ProgramError {
    refused(format_args!("LISTEN_FDS: {problem}\n    fix: {fix}"))
}

/// Notifies the supervisor that the service is ready.
pub fn ready() {
    #[cfg(target_os = "linux")]
    notify(sd_notify::NotifyState::Ready);
}

/// Notifies the supervisor that the service is stopping.
pub fn stopping() {
    #[cfg(target_os = "linux")]
    notify_in_thread(sd_notify::NotifyState::Stopping);
}

/// Notifies the supervisor's watchdog twice per watchdog interval, as long as the management API answers. Returns at
/// once if no watchdog is enabled.
pub async fn feed_watchdog(management: impl ToSocketAddrs + Copy) {
    #[cfg(target_os = "linux")]
    if let Some(limit) = sd_notify::watchdog_enabled() {
        let interval = limit / 2;
        loop {
            // An answer takes an accepting listener and a free worker.
            if probe(management, "/health/live", interval).await.unwrap_or_default() {
                notify_in_thread(sd_notify::NotifyState::Watchdog);
            }
            tokio::time::sleep(interval).await;
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = management;
}

/// Returns whether a probe of the management API is answered with 200.
///
/// # Errors
///
/// If there is no answer in time.
pub(crate) async fn probe(
    management: impl ToSocketAddrs,
    path: &str,
    patience: Duration,
) -> io::Result<bool> {
    let asked = async {
        let mut stream = TcpStream::connect(management).await?;
        stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: companion\r\n\r\n").as_bytes()).await?;
        let mut head = [0; 12];
        stream.read_exact(&mut head).await?;
        Ok(head.ends_with(b" 200"))
    };
    timeout(patience, asked).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

/// Notifies from a thread of its own, because a supervisor that does not read its socket would block the caller.
#[cfg(target_os = "linux")]
fn notify_in_thread(state: sd_notify::NotifyState<'static>) {
    std::thread::spawn(move || notify(state));
}

#[cfg(target_os = "linux")]
fn notify(state: sd_notify::NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(&[state]) {
        tracing::warn!(%error, "cannot notify the supervisor");
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    fn listeners(count: usize) -> Vec<TcpListener> {
        (0..count).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect()
    }

    #[test]
    fn assigns_passed_listeners_by_name() {
        let passed = PassedListeners::named("dashboard:public", listeners(2)).unwrap();
        assert!(passed.public.is_some() && passed.management.is_none() && passed.dashboard.is_some());
        assert!(PassedListeners::named("", listeners(1)).unwrap().public.is_some());
        assert!(PassedListeners::named("", listeners(0)).unwrap().public.is_none());
        for (names, count, said) in [
            ("companion.socket", 1, "\"companion.socket\""),
            ("public:public", 2, "two listeners are called \"public\""),
            ("public", 2, "\"\""),
            ("", 2, "\"\""),
        ] {
            let refused = PassedListeners::named(names, listeners(count)).unwrap_err().to_string();
            assert!(refused.contains(said) && refused.contains("FileDescriptorName="), "{refused}");
        }
    }

    #[tokio::test]
    async fn alive_only_if_the_liveness_probe_answers() {
        let answers = |text: &'static [u8]| {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listener.local_addr().unwrap();
            listener.set_nonblocking(true).unwrap();
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            tokio::spawn(async move {
                let (mut stream, _) = listener.accept().await.unwrap();
                stream.write_all(text).await.unwrap();
                std::future::pending::<()>().await;
            });
            address
        };
        let long = Duration::from_secs(20);
        let is_alive = async |address, patience| probe(address, "/", patience).await.unwrap_or_default();
        assert!(is_alive(answers(b"HTTP/1.1 200 OK\r\n"), long).await);
        assert!(!is_alive(answers(b"HTTP/1.1 503 Service Unavailable\r\n"), long).await);
        let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        assert!(!is_alive(closed, long).await);
        assert!(!is_alive(answers(b"HTTP/1"), Duration::from_millis(50)).await, "it hangs");
    }
}
