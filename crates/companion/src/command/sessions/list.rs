//! `companion sessions list`.

use crate::{
    command::{
        error::{CommandError, cannot},
        output::{print, table, utc},
        stored::with_storage,
    },
    composition::session_limits,
    configuration::Configuration,
    system::SystemClock,
};
use async_trait::async_trait;
use companion_domain::{
    model::{Timestamp, UserId},
    port::{Cause, Clock as _, Record, RecordSink, Stores},
    session::{Cutoffs, Session, SessionLimits},
};
use std::{
    error::Error,
    io::{self, IsTerminal as _},
    iter,
};

pub(super) fn run(
    configuration: &Configuration,
    user: Option<UserId>,
    json: bool,
) -> Result<(), CommandError> {
    let (limits, now) = (session_limits(&configuration.sessions), SystemClock.now());
    let sessions = with_storage(configuration, async |storage| {
        live(&storage.stores(), user, limits.cutoffs(now)).await
    })?;
    print(&if json { document(&sessions, limits, now) } else { rows(&sessions, limits, now) })
}

/// Returns the live sessions, oldest first.
async fn live(stores: &Stores, user: Option<UserId>, over: Cutoffs) -> Result<Vec<Session>, CommandError> {
    let failed = |error: &dyn Error| cannot("list sessions", error);
    let mut live = Live { over, sessions: Vec::new() };
    match user {
        Some(user) => live.add(stores.sessions.of_user(user).await.map_err(|error| failed(&error))?),
        None => stores.records.export(&mut live).await.map_err(|error| failed(&error))?,
    }
    live.sessions.sort_by_key(|session| (session.created_at, session.id));
    Ok(live.sessions)
}

/// Collects the live sessions of an export.
struct Live {
    over: Cutoffs,
    sessions: Vec<Session>,
}

impl Live {
    fn add(&mut self, sessions: impl IntoIterator<Item = Session>) {
        self.sessions.extend(sessions.into_iter().filter(|session| !self.over.has_ended(session)));
    }
}

#[async_trait]
impl RecordSink for Live {
    async fn take(&mut self, records: Vec<Record>) -> Result<(), Cause> {
        let session = |record| match record {
            Record::Session(session) => Some(session),
            _ => None,
        };
        self.add(records.into_iter().filter_map(session));
        Ok(())
    }
}

fn rows(sessions: &[Session], limits: SessionLimits, now: Timestamp) -> String {
    let row = |session: &Session| {
        [
            session.id.to_string(),
            session.user.to_string(),
            utc(session.created_at),
            utc(session.last_seen_at),
            utc(limits.ends_at(session, now)),
            session.user_agent.as_ref().map(ToString::to_string).unwrap_or_default(),
        ]
    };
    let header = ["ID", "USER", "CREATED", "SEEN", "ENDS", "DEVICE"].map(str::to_owned);
    let rows: Vec<_> = iter::once(header).chain(sessions.iter().map(row)).collect();
    table(&rows, io::stdout().is_terminal())
}

/// Renders the fields that the management API returns.
fn document(sessions: &[Session], limits: SessionLimits, now: Timestamp) -> String {
    let session = |session: &Session| {
        serde_json::json!({
            "id": session.id.to_string(),
            "user": session.user.to_string(),
            "created": session.created_at.seconds(),
            "seen": session.last_seen_at.seconds(),
            "ends": limits.ends_at(session, now).seconds(),
            "user_agent": session.user_agent.as_ref().map(ToString::to_string),
        })
    };
    let sessions: Vec<_> = sessions.iter().map(session).collect();
    format!("{:#}\n", serde_json::Value::from(sessions))
}
