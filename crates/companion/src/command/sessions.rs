//! `companion sessions`: lists and ends sessions directly in the storage.
//!
//! A running service learns of every ended session from the change feed, within a second. Its next revocation round
//! revokes grants whose last session has ended.

use super::{
    output::{counted, print, table, utc},
    stored::with_storage,
};
use crate::{
    composition::session_limits,
    configuration::Configuration,
    error::{ProgramError, cannot, failed, refused},
    logging,
    system::SystemClock,
};
use async_trait::async_trait;
use clap::Subcommand;
use companion_domain::{
    change::Tally,
    model::{Timestamp, UserId},
    port::{Cause, Clock as _, Record, RecordSink, SessionStore, Stores},
    session::{Cutoffs, Session, SessionLimits, TokenHash},
};
use companion_http::audit::Audit;
use std::{
    collections::BTreeMap,
    error::Error,
    io::{self, BufRead, IsTerminal as _, Write},
    iter,
    num::NonZeroU32,
};

#[derive(Debug, Subcommand)]
pub(super) enum SessionsCommand {
    /// List the live sessions, never their tokens
    #[command(after_help = "Examples:\n  companion sessions list\n  \
                            companion sessions list --user 190000000000000007 --json")]
    List {
        /// Only sessions of this user
        #[arg(long)]
        user: Option<UserId>,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// End a session
    #[command(after_help = "Examples:\n  companion sessions revoke \
                            3a7bd3e2360a3d29eea436fcfb7e44c735d117c42d1c1835420b6b9942dd4f1b")]
    Revoke {
        /// The session's id, as printed by `sessions list`
        id: TokenHash,
    },
    /// End all sessions, or all sessions of one user
    #[command(after_help = "Examples:\n  companion sessions revoke-all --user 190000000000000007\n  \
                            companion sessions revoke-all --yes")]
    RevokeAll {
        /// Only sessions of this user
        #[arg(long)]
        user: Option<UserId>,
        /// Skip the confirmation
        #[arg(long)]
        yes: bool,
    },
    /// Remove expired sessions; `serve` does it too
    #[command(after_help = "Examples:\n  companion sessions prune")]
    Prune,
}

/// Sessions ended per transaction, so that a concurrent sign-in does not wait long.
const END_BATCH: NonZeroU32 = NonZeroU32::new(500).unwrap();
/// Cutoffs at the end of time, by which every session has expired.
const EVERYONE: Cutoffs = {
    let end = Timestamp::from_micros(i64::MAX);
    Cutoffs { created: end, seen: end, ahead: end }
};

/// The sessions to end.
#[derive(Clone, Copy)]
enum Selection {
    One(TokenHash),
    User(UserId),
    Over(Cutoffs),
}

pub(super) fn run(configuration: &Configuration, command: &SessionsCommand) -> Result<(), ProgramError> {
    let limits = session_limits(&configuration.sessions);
    let (action, selection, done) = match *command {
        SessionsCommand::List { user, json } => return list(configuration, limits, user, json),
        SessionsCommand::Revoke { id } => ("revoke_session", Selection::One(id), "ended"),
        SessionsCommand::RevokeAll { user, yes } => {
            if !yes {
                confirm(user)?;
            }
            ("revoke_user", user.map_or(Selection::Over(EVERYONE), Selection::User), "ended")
        }
        SessionsCommand::Prune => {
            ("expire_session", Selection::Over(limits.cutoffs(SystemClock.now())), "removed")
        }
    };
    logging::start(&configuration.log);
    with_storage(configuration, async |storage| {
        let sessions = storage.stores().sessions;
        let sum = end(&*sessions, action, selection).await?;
        match command {
            SessionsCommand::Revoke { .. } if sum == 0 => {
                return Err(failed("unknown session; `companion sessions list` prints all ids"));
            }
            SessionsCommand::RevokeAll { user: None, .. } if sum == 0 => refuse_leftovers(&*sessions).await?,
            _ => {}
        }
        let unreadable = storage.unreadable_rows();
        let unreadable = unreadable.iter().find(|(table, _)| *table == "sessions");
        let note = unreadable
            .map(|(_, count)| format!("{} removed as well\n", counted(*count, "unreadable row")))
            .unwrap_or_default();
        print(&format!("{} {done}\n{note}", counted(sum, "session")))
    })
}

/// Ends all sessions of a selection in batches, with one audit line per user and batch: the one that the management API
/// writes for the same action.
async fn end(
    sessions: &dyn SessionStore,
    action: &'static str,
    selection: Selection,
) -> Result<u64, ProgramError> {
    let mut sum = 0;
    loop {
        let ended = match selection {
            Selection::One(id) => sessions.revoke(&id).await.map(|session| session.into_iter().collect()),
            Selection::User(user) => sessions.revoke_user(user).await,
            Selection::Over(cutoffs) => sessions.prune(cutoffs, END_BATCH).await,
        };
        let ended: Vec<_> = ended.map_err(|error| cannot("end sessions", &error))?;
        if ended.is_empty() {
            return Ok(sum);
        }
        sum += ended.len() as u64;
        let mut by_user = BTreeMap::<UserId, Vec<Session>>::new();
        for session in ended {
            by_user.entry(session.user).or_default().push(session);
        }
        for sessions in by_user.values() {
            let tally = Tally { removed: sessions.len() as u64, ..Tally::NOTHING };
            Audit::of_command_line(action).sessions(sessions, Some(tally));
        }
    }
}

/// Fails if sessions are left although all were selected.
async fn refuse_leftovers(sessions: &dyn SessionStore) -> Result<(), ProgramError> {
    match sessions.count().await.map_err(|error| cannot("end sessions", &error))? {
        None | Some(0) => Ok(()),
        Some(left) => Err(failed(format_args!(
            "no session was ended, but {} still stored\n    fix: run it again; if that does not help, stop the service and \
             delete all rows of the table sessions",
            if left == 1 { "1 is".to_owned() } else { format!("{left} are") }
        ))),
    }
}

/// Asks for confirmation. Fails if standard input is not a terminal.
pub(super) fn confirm(user: Option<UserId>) -> Result<(), ProgramError> {
    if !io::stdin().is_terminal() {
        return Err(refused(format_args!(
            "{} would be signed out, and there is no terminal for the confirmation\n    fix: add --yes",
            whom(user)
        )));
    }
    if ask(user, &mut io::stdin().lock(), &mut io::stderr()) {
        Ok(())
    } else {
        Err(failed("not confirmed; no session was ended"))
    }
}

fn whom(user: Option<UserId>) -> String {
    user.map_or_else(|| "everyone".to_owned(), |user| format!("user {user}"))
}

fn ask(user: Option<UserId>, answers: &mut dyn BufRead, questions: &mut dyn Write) -> bool {
    let asked = write!(questions, "Sign {} out, on all devices? Type yes: ", whom(user))
        .and_then(|()| questions.flush());
    let mut answer = String::new();
    asked.and_then(|()| answers.read_line(&mut answer)).is_ok() && answer.trim() == "yes"
}

/// Lists the live sessions, oldest first.
fn list(
    configuration: &Configuration,
    limits: SessionLimits,
    user: Option<UserId>,
    json: bool,
) -> Result<(), ProgramError> {
    let now = SystemClock.now();
    let mut live = Live { over: limits.cutoffs(now), sessions: Vec::new() };
    with_storage(configuration, async |storage| {
        let failed = |error: &dyn Error| cannot("list sessions", error);
        let Stores { sessions, records, .. } = storage.stores();
        match user {
            Some(user) => live.add(sessions.of_user(user).await.map_err(|error| failed(&error))?),
            None => records.export(&mut live).await.map_err(|error| failed(&error))?,
        }
        Ok(())
    })?;
    live.sessions.sort_by_key(|session| (session.created_at, session.id));
    let render = if json { document } else { rows };
    print(&render(&live.sessions, limits, now))
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

#[cfg(test)]
mod tests {
    use super::*;
    use companion_domain::{
        port::{GrantContent, SignIns as _},
        session::UserAgent,
    };
    use companion_storage_memory::MemoryStorage;

    #[tokio::test]
    async fn fails_if_stored_sessions_remain_and_none_was_ended() {
        let storage = MemoryStorage::new();
        assert!(refuse_leftovers(&storage).await.is_ok());
        let now = Timestamp::EPOCH;
        let session = Session {
            id: TokenHash::from_bytes([1; 32]),
            user: UserId::new(1).unwrap(),
            created_at: now,
            last_seen_at: now,
            user_agent: UserAgent::sent("Browser"),
        };
        let none_over = Cutoffs { created: now, seen: now, ahead: now };
        storage.begin(&session, NonZeroU32::MIN, none_over, &GrantContent::default()).await.unwrap();
        let failure = refuse_leftovers(&storage).await.unwrap_err();
        assert_eq!(failure.exit_code(), 1);
        assert!(failure.to_string().starts_with("no session was ended, but 1 is still stored"), "{failure}");
    }
    #[test]
    fn confirms_only_on_a_full_yes() {
        for (answer, expected) in
            [("yes\n", true), (" yes \r\n", true), ("y\n", false), ("", false), ("no\n", false)]
        {
            let mut question = Vec::new();
            assert_eq!(ask(None, &mut answer.as_bytes(), &mut question), expected, "{answer:?}");
            assert_eq!(String::from_utf8(question).unwrap(), "Sign everyone out, on all devices? Type yes: ");
        }
    }
}
