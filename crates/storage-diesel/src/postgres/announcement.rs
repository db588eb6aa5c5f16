//! Telling other nodes of changes, and hearing of theirs.
//!
//! A writer announces its revision in the transaction of its change, so that nobody hears of what was not committed. An
//! announcement may be lost with the connection that would have brought it; whoever follows the changes also asks from
//! time to time.

use super::PostgresOptions;
use crate::writer::Shared;
use companion_domain::{change::Revision, port::Cause};
use diesel::{
    PgConnection, QueryResult, QueryableByName, RunQueryDsl,
    connection::SimpleConnection,
    sql_query,
    sql_types::{BigInt, Text},
};
use std::{
    sync::{
        Arc,
        mpsc::{self, RecvTimeoutError},
    },
    time::Duration,
};

/// How long an announcement lies unread at most.
const GLANCE: Duration = Duration::from_millis(20);
/// How long to wait before connecting again, at first and at most.
const RETRY: (Duration, Duration) = (Duration::from_millis(50), Duration::from_millis(500));

/// The channel of this schema: others in the same database count their revisions by themselves.
const CHANNEL: &str = "'companion_' || (quote_ident(current_schema())::regnamespace::oid)::text";

/// Announces a revision, once the open transaction is committed.
pub(crate) fn announce(connection: &mut PgConnection, latest: Revision) -> QueryResult<()> {
    let Revision(latest) = latest;
    connection.batch_execute(&format!("SELECT pg_notify({CHANNEL}, '{latest}')"))
}

/// A thread that listens until this is dropped.
pub(crate) struct Listener {
    _stop: mpsc::Sender<()>,
}

impl Listener {
    /// Starts listening. Every revision heard of wakes whoever waits for news.
    pub(crate) fn start(options: PostgresOptions, shared: Arc<Shared>) -> Result<Self, Cause> {
        let (stop, stopped) = mpsc::channel();
        std::thread::Builder::new().name("storage-listener".to_owned()).spawn(move || {
            let mut pause = RETRY.0;
            loop {
                if let Ok(connection) = Ear::open(&options, &shared) {
                    pause = RETRY.0;
                    if connection.listen(&shared, &stopped).is_break() {
                        return;
                    }
                }
                if stopped.recv_timeout(pause) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
                pause = (pause * 2).min(RETRY.1);
            }
        })?;
        Ok(Self { _stop: stop })
    }
}

#[derive(QueryableByName)]
struct Channel {
    #[diesel(sql_type = Text)]
    name: String,
}

#[derive(QueryableByName)]
struct Heard {
    #[diesel(sql_type = BigInt)]
    latest: i64,
}

/// A connection that hears announcements.
struct Ear(PgConnection);

impl Ear {
    fn open(options: &PostgresOptions, shared: &Shared) -> Result<Self, Cause> {
        let mut connection = options.connect_listener()?;
        let channel: Channel = sql_query(format!("SELECT {CHANNEL} AS name")).get_result(&mut connection)?;
        connection.batch_execute(&format!("LISTEN \"{}\"", channel.name))?;
        // What was announced while nobody listened. A server that was set back may even be behind.
        let heard: Heard = sql_query("SELECT revision AS latest FROM history").get_result(&mut connection)?;
        shared.set_latest(Revision(heard.latest.cast_unsigned()));
        Ok(Self(connection))
    }

    /// Listens until told to stop, or until the connection is lost.
    fn listen(mut self, shared: &Shared, stopped: &mpsc::Receiver<()>) -> std::ops::ControlFlow<()> {
        use std::ops::ControlFlow::{Break, Continue};
        loop {
            for notification in self.0.notifications_iter() {
                match notification.map(|heard| heard.payload.parse()) {
                    Ok(Ok(revision)) => shared.announce(Revision(revision)),
                    // Somebody else's joke.
                    Ok(Err(_)) => {}
                    Err(_) => return Continue(()),
                }
            }
            if stopped.recv_timeout(GLANCE) != Err(RecvTimeoutError::Timeout) {
                return Break(());
            }
        }
    }
}
