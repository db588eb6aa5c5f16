//! Telling other nodes of changes, and hearing of theirs: LISTEN and NOTIFY.
//!
//! A writer notifies of its revision in the transaction of its change, so that nobody hears of what was not committed. A
//! notification may be lost with the connection that would have brought it; whoever follows the changes also asks from
//! time to time.

use super::{options::PostgresOptions, timeline};
use crate::{latest::LatestRevision, purpose::Purpose, timeline::Timeline};
use companion_domain::{change::Revision, port::Cause};
use diesel::{
    PgConnection, QueryResult, RunQueryDsl,
    connection::SimpleConnection,
    dsl::sql,
    sql_types::{BigInt, Text},
};
use std::{
    ops::ControlFlow,
    sync::mpsc::{self, RecvTimeoutError},
    time::Duration,
};

/// How long a notification lies unread at most.
const POLL: Duration = Duration::from_millis(20);
/// How long to wait before connecting again, at first and at most.
const RETRY: (Duration, Duration) = (Duration::from_millis(50), Duration::from_millis(500));

/// The channel of this schema: others in the same database count their revisions by themselves.
const CHANNEL: &str = "'companion_' || (quote_ident(current_schema())::regnamespace::oid)::text";

/// Tells all listeners of a revision, once the open transaction is committed.
pub(crate) fn notify(connection: &mut PgConnection, latest: Revision) -> QueryResult<()> {
    let Revision(latest) = latest;
    connection.batch_execute(&format!("SELECT pg_notify({CHANNEL}, '{latest}')"))
}

/// A thread that listens until this is dropped. Every revision that it hears of becomes the latest.
pub(crate) struct Listener {
    _stop: mpsc::Sender<()>,
}

impl Listener {
    pub(crate) fn start(options: PostgresOptions, latest: LatestRevision) -> Result<Self, Cause> {
        let (stop, stopped) = mpsc::channel();
        std::thread::Builder::new().name("storage-listener".to_owned()).spawn(move || {
            let mut pause = RETRY.0;
            loop {
                if let Ok(connection) = subscribe(&options, &latest) {
                    pause = RETRY.0;
                    if listen(connection, &latest, &stopped).is_break() {
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

fn subscribe(options: &PostgresOptions, latest: &LatestRevision) -> Result<PgConnection, Cause> {
    let mut connection = options.connect(Purpose::Read)?;
    let channel: String = sql::<Text>(&format!("SELECT {CHANNEL}")).get_result(&mut connection)?;
    connection.batch_execute(&format!("LISTEN \"{channel}\""))?;
    // What was notified while nobody listened. A server that was set back may even be behind.
    let position = format!("SELECT revision AS latest, {} FROM history", timeline::NUMBER);
    let (newest, number): (i64, i64) = sql::<(BigInt, BigInt)>(&position).get_result(&mut connection)?;
    latest.reset(Timeline::of_server(number).revision(newest.cast_unsigned()));
    Ok(connection)
}

/// Listens until told to stop, or until the connection is lost.
fn listen(
    mut connection: PgConnection,
    latest: &LatestRevision,
    stopped: &mpsc::Receiver<()>,
) -> ControlFlow<()> {
    loop {
        for notification in connection.notifications_iter() {
            match notification.map(|notification| notification.payload.parse()) {
                Ok(Ok(revision)) => latest.advance(Revision(revision)),
                // Not one of ours.
                Ok(Err(_)) => {}
                Err(_) => return ControlFlow::Continue(()),
            }
        }
        if stopped.recv_timeout(POLL) != Err(RecvTimeoutError::Timeout) {
            return ControlFlow::Break(());
        }
    }
}
