//! `companion sessions`: the operator's hold on sessions, on the storage itself.
//!
//! A running service learns of every end from the change feed, within a second. Grants whose last session has gone are given
//! back to the platform by the service, in its next round.

mod confirmation;
mod limits;
mod list;
mod selection;

use self::{confirmation::confirm, limits::limits, selection::Selection};
use super::{
    failure::{Failure, with_causes},
    output::{counted, print},
    stored::with_storage,
};
use crate::{configuration::Configuration, logging, system::SystemClock};
use clap::Subcommand;
use companion_domain::{
    change::Tally,
    model::UserId,
    port::{Clock as _, StoreError},
    session::{Session, TokenHash},
};
use companion_http::audit::Audit;
use std::collections::BTreeMap;

#[derive(Debug, Subcommand)]
pub(super) enum SessionsCommand {
    /// List the live sessions: never their tokens
    #[command(after_help = "Examples:\n  companion sessions list\n  \
                            companion sessions list --user 190000000000000007 --json")]
    List {
        /// Of this user only
        #[arg(long)]
        user: Option<UserId>,
        /// As one JSON document
        #[arg(long)]
        json: bool,
    },
    /// End a session
    #[command(after_help = "Examples:\n  companion sessions revoke \
                            3a7bd3e2360a3d29eea436fcfb7e44c735d117c42d1c1835420b6b9942dd4f1b")]
    Revoke {
        /// The session's id, as `sessions list` has it
        id: TokenHash,
    },
    /// End all sessions of everyone, or of one user
    #[command(after_help = "Examples:\n  companion sessions revoke-all --user 190000000000000007\n  \
                            companion sessions revoke-all --yes")]
    RevokeAll {
        /// Of this user only
        #[arg(long)]
        user: Option<UserId>,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Remove the sessions that are over; `serve` does it too
    #[command(after_help = "Examples:\n  companion sessions prune")]
    Prune,
}

pub(super) fn run(configuration: &Configuration, command: &SessionsCommand) -> Result<(), Failure> {
    match *command {
        SessionsCommand::List { user, json } => list::run(configuration, user, json),
        SessionsCommand::Revoke { ref id } => revoke(configuration, id),
        SessionsCommand::RevokeAll { user, yes } => {
            if !yes {
                confirm(user)?;
            }
            let selection = user.map_or(Selection::Everyone, Selection::User);
            let ended = end(configuration, "revoke_user", &selection)?;
            print(&format!("{} ended\n", counted(ended, "session")))
        }
        SessionsCommand::Prune => {
            let over = Selection::Over(limits(configuration).cutoffs(SystemClock.now()));
            let ended = end(configuration, "expire_session", &over)?;
            print(&format!("{} removed\n", counted(ended, "session")))
        }
    }
}

fn revoke(configuration: &Configuration, id: &TokenHash) -> Result<(), Failure> {
    logging::start(&configuration.log);
    let ended = with_storage(configuration, async |storage| {
        storage.stores().sessions.revoke(id).await.map_err(|error| cannot_end(&error))
    })?;
    match ended {
        Some(session) => {
            record("revoke_session", &[session]);
            print("1 session ended\n")
        }
        None => Err(Failure::Failed(
            "there is no such session; `companion sessions list` shows those there are".to_owned(),
        )),
    }
}

/// Ends all sessions of a selection, batch by batch, and tells the audit trail of each user. Returns how many there were.
fn end(configuration: &Configuration, action: &'static str, selection: &Selection) -> Result<u64, Failure> {
    logging::start(&configuration.log);
    with_storage(configuration, async |storage| {
        let sessions = storage.stores().sessions;
        let mut sum = 0;
        loop {
            let ended = selection.end_some(&*sessions).await.map_err(|error| cannot_end(&error))?;
            if ended.is_empty() {
                return Ok(sum);
            }
            sum += ended.len() as u64;
            let mut by_user = BTreeMap::<UserId, Vec<Session>>::new();
            for session in ended {
                by_user.entry(session.user).or_default().push(session);
            }
            by_user.values().for_each(|sessions| record(action, sessions));
        }
    })
}

/// Writes the line that the management API writes for the same.
fn record(action: &'static str, ended: &[Session]) {
    let tally = Tally { removed: ended.len() as u64, ..Tally::NOTHING };
    Audit::of_command_line(action).sessions(ended, Some(tally));
}

fn cannot_end(error: &StoreError) -> Failure {
    Failure::Failed(format!("cannot end sessions: {}", with_causes(error)))
}
