//! `companion sessions`: lists and ends sessions directly in the storage.
//!
//! A running service learns of every ended session from the change feed, within a second. Its next revocation round
//! revokes grants whose last session has ended.

mod list;
mod selection;

use self::selection::{Selection, confirm};
use super::{
    error::{CommandError, with_causes},
    output::{counted, print},
    stored::with_storage,
};
use crate::{composition::session_limits, configuration::Configuration, logging, system::SystemClock};
use clap::Subcommand;
use companion_domain::{
    change::Tally,
    model::UserId,
    port::{Clock as _, SessionStore, StoreError},
    session::{Session, TokenHash},
};
use companion_http::audit::Audit;
use std::collections::BTreeMap;

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

pub(super) fn run(configuration: &Configuration, command: &SessionsCommand) -> Result<(), CommandError> {
    match *command {
        SessionsCommand::List { user, json } => list::run(configuration, user, json),
        SessionsCommand::Revoke { ref id } => revoke(configuration, id),
        SessionsCommand::RevokeAll { user, yes } => {
            if !yes {
                confirm(user)?;
            }
            let selection = user.map_or(Selection::Everyone, Selection::User);
            let ended = end(configuration, "revoke_user", &selection)?;
            print(&format!("{} ended\n{}", counted(ended.readable, "session"), ended.note()))
        }
        SessionsCommand::Prune => {
            let over = Selection::Over(session_limits(&configuration.sessions).cutoffs(SystemClock.now()));
            let ended = end(configuration, "expire_session", &over)?;
            print(&format!("{} removed\n{}", counted(ended.readable, "session"), ended.note()))
        }
    }
}

fn revoke(configuration: &Configuration, id: &TokenHash) -> Result<(), CommandError> {
    logging::start(&configuration.log);
    let ended = with_storage(configuration, async |storage| {
        storage.stores().sessions.revoke(id).await.map_err(|error| cannot_end(&error))
    })?;
    match ended {
        Some(session) => {
            record("revoke_session", &[session]);
            print("1 session ended\n")
        }
        None => {
            Err(CommandError::Failed("unknown session; `companion sessions list` prints all ids".to_owned()))
        }
    }
}

/// Numbers of removed sessions.
struct Ended {
    readable: u64,
    unreadable: u64,
}

impl Ended {
    fn note(&self) -> String {
        match self.unreadable {
            0 => String::new(),
            count => format!("{} removed as well\n", counted(count, "unreadable row")),
        }
    }
}

/// Ends all sessions of a selection in batches, with one audit line per user and batch. Fails if all sessions were
/// selected, none was ended and some are left.
fn end(
    configuration: &Configuration,
    action: &'static str,
    selection: &Selection,
) -> Result<Ended, CommandError> {
    logging::start(&configuration.log);
    with_storage(configuration, async |storage| {
        let sessions = storage.stores().sessions;
        let mut sum = 0;
        loop {
            let ended = selection.end_some(&*sessions).await.map_err(|error| cannot_end(&error))?;
            if ended.is_empty() {
                break;
            }
            sum += ended.len() as u64;
            let mut by_user = BTreeMap::<UserId, Vec<Session>>::new();
            for session in ended {
                by_user.entry(session.user).or_default().push(session);
            }
            by_user.values().for_each(|sessions| record(action, sessions));
        }
        if sum == 0 && matches!(selection, Selection::Everyone) {
            refuse_leftovers(&*sessions).await?;
        }
        let unreadable = storage.unreadable_rows();
        let unreadable = unreadable.iter().find(|(table, _)| *table == "sessions");
        Ok(Ended { readable: sum, unreadable: unreadable.map_or(0, |(_, count)| *count) })
    })
}

async fn refuse_leftovers(sessions: &dyn SessionStore) -> Result<(), CommandError> {
    match sessions.count().await.map_err(|error| cannot_end(&error))? {
        None | Some(0) => Ok(()),
        Some(left) => Err(CommandError::Failed(format!(
            "no session was ended, but {} still stored\n    fix: run it again; if that does not help, stop the service and \
             delete all rows of the table sessions",
            if left == 1 { "1 is".to_owned() } else { format!("{left} are") }
        ))),
    }
}

/// Writes the audit line that the management API writes for the same action.
fn record(action: &'static str, ended: &[Session]) {
    let tally = Tally { removed: ended.len() as u64, ..Tally::NOTHING };
    Audit::of_command_line(action).sessions(ended, Some(tally));
}

fn cannot_end(error: &StoreError) -> CommandError {
    CommandError::Failed(format!("cannot end sessions: {}", with_causes(error)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use companion_domain::{
        model::Timestamp,
        session::{Cutoffs, UserAgent},
    };
    use companion_storage_memory::MemoryStorage;
    use std::num::NonZeroU32;

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
        storage.create(&session, NonZeroU32::MIN, none_over).await.unwrap();
        let failure = refuse_leftovers(&storage).await.unwrap_err();
        assert_eq!(failure.exit_code(), 1);
        assert!(failure.to_string().starts_with("no session was ended, but 1 is still stored"), "{failure}");
    }
}
