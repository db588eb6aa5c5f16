//! Notifies other nodes of changes, and receives their notifications: LISTEN and NOTIFY.
//!
//! A writer notifies in the transaction of its change, so only committed changes are announced. A notification may be
//! lost with its connection, so subscribers of the change feed also poll.

use super::options::PostgresOptions;
use crate::{
    limits::Purpose,
    revision::{LatestRevision, TIMELINE, Timeline},
};
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

/// Poll interval for notifications, and so their maximum delay.
const POLL: Duration = Duration::from_millis(20);
/// Initial and maximum delay before reconnecting.
const RETRY: (Duration, Duration) = (Duration::from_millis(50), Duration::from_millis(500));

/// The channel of this schema. Other schemas in the same database count revisions independently.
const CHANNEL: &str = "'companion_' || (quote_ident(current_schema())::regnamespace::oid)::text";

/// Notifies all listeners of a revision when the open transaction commits.
pub(crate) fn notify(connection: &mut PgConnection, latest: Revision) -> QueryResult<()> {
    let Revision(latest) = latest;
    connection.batch_execute(&format!("SELECT pg_notify({CHANNEL}, '{latest}')"))
}

/// A thread that listens until this handle is dropped. It advances the latest revision with each notification.
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
    // Covers notifications missed before LISTEN. A server restored to an earlier state may even be behind.
    let position = format!("SELECT revision AS latest, {TIMELINE} FROM history");
    let (newest, number): (i64, i64) = sql::<(BigInt, BigInt)>(&position).get_result(&mut connection)?;
    latest.reset(Timeline::of_server(number).revision(newest.cast_unsigned()));
    Ok(connection)
}

/// Listens until told to stop (`Break`), or until the connection is lost (`Continue`).
fn listen(
    mut connection: PgConnection,
    latest: &LatestRevision,
    stopped: &mpsc::Receiver<()>,
) -> ControlFlow<()> {
    loop {
        for notification in connection.notifications_iter() {
            match notification.map(|notification| notification.payload.parse()) {
                Ok(Ok(revision)) => latest.advance(Revision(revision)),
                // Not a notification of this program.
                Ok(Err(_)) => {}
                Err(_) => return ControlFlow::Continue(()),
            }
        }
        if stopped.recv_timeout(POLL) != Err(RecvTimeoutError::Timeout) {
            return ControlFlow::Break(());
        }
    }
}
