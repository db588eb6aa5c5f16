//! `companion sessions`: lists and ends sessions directly in the storage.
//!
//! A running service learns of every ended session from the change feed, within a second. Its next revocation round
//! revokes grants whose last session has ended.

mod list;
mod selection;

use self::selection::{Selection, confirm};
use super::{
    error::{CommandError, cannot, failed},
    output::{counted, print},
    stored::with_storage,
};
use crate::{composition::session_limits, configuration::Configuration, logging, system::SystemClock};
use clap::Subcommand;
use companion_domain::{
    change::Tally,
    model::UserId,
    port::{Clock as _, SessionStore},
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
    let (action, selection, done) = match *command {
        SessionsCommand::List { user, json } => return list::run(configuration, user, json),
        SessionsCommand::Revoke { id } => ("revoke_session", Selection::One(id), "ended"),
        SessionsCommand::RevokeAll { user, yes } => {
            if !yes {
                confirm(user)?;
            }
            ("revoke_user", user.map_or(Selection::Everyone, Selection::User), "ended")
        }
        SessionsCommand::Prune => {
            let over = session_limits(&configuration.sessions).cutoffs(SystemClock.now());
            ("expire_session", Selection::Over(over), "removed")
        }
    };
    logging::start(&configuration.log);
    with_storage(configuration, async |storage| {
        let sum = end(&*storage.stores().sessions, action, &selection).await?;
        let unreadable = storage.unreadable_rows();
        let unreadable = unreadable.iter().find(|(table, count)| *table == "sessions" && *count > 0);
        let note = unreadable
            .map(|(_, count)| format!("{} removed as well\n", counted(*count, "unreadable row")))
            .unwrap_or_default();
        print(&format!("{} {done}\n{note}", counted(sum, "session")))
    })
}

/// Ends all sessions of a selection in batches, with one audit line per user and batch: the one that the management API
/// writes for the same action. Fails if all sessions were selected, none was ended and some are left.
async fn end(
    sessions: &dyn SessionStore,
    action: &'static str,
    selection: &Selection,
) -> Result<u64, CommandError> {
    let mut sum = 0;
    loop {
        let ended = selection.end_some(sessions).await.map_err(|error| cannot("end sessions", &error))?;
        if ended.is_empty() {
            break;
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
    match (sum, selection) {
        (0, Selection::One(_)) => Err(failed("unknown session; `companion sessions list` prints all ids")),
        (0, Selection::Everyone) => refuse_leftovers(sessions).await.map(|()| 0),
        _ => Ok(sum),
    }
}

async fn refuse_leftovers(sessions: &dyn SessionStore) -> Result<(), CommandError> {
    match sessions.count().await.map_err(|error| cannot("end sessions", &error))? {
        None | Some(0) => Ok(()),
        Some(left) => Err(failed(format_args!(
            "no session was ended, but {} still stored\n    fix: run it again; if that does not help, stop the service and \
             delete all rows of the table sessions",
            if left == 1 { "1 is".to_owned() } else { format!("{left} are") }
        ))),
    }
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
