//! Which sessions a command ends, and its confirmation.

use crate::command::error::{CommandError, failed};
use companion_domain::{
    model::{Timestamp, UserId},
    port::{SessionStore, StoreError},
    session::{Cutoffs, Session, TokenHash},
};
use std::{
    io::{self, BufRead, IsTerminal as _, Write},
    num::NonZeroU32,
};

/// Sessions ended per transaction, so that a concurrent sign-in does not wait long.
const END_BATCH: NonZeroU32 = NonZeroU32::new(500).unwrap();

/// The sessions to end.
pub(super) enum Selection {
    One(TokenHash),
    Everyone,
    User(UserId),
    Over(Cutoffs),
}

impl Selection {
    /// Ends one batch. Returns an empty list when none is left.
    pub(super) async fn end_some(&self, sessions: &dyn SessionStore) -> Result<Vec<Session>, StoreError> {
        // With cutoffs at the end of time, every session has expired.
        const ALL: Cutoffs = {
            let end = Timestamp::from_micros(i64::MAX);
            Cutoffs { created: end, seen: end, ahead: end }
        };
        match self {
            Self::One(id) => Ok(sessions.revoke(id).await?.into_iter().collect()),
            Self::User(user) => sessions.revoke_user(*user).await,
            Self::Everyone => sessions.prune(ALL, END_BATCH).await,
            Self::Over(cutoffs) => sessions.prune(*cutoffs, END_BATCH).await,
        }
    }
}

/// Asks for confirmation. Fails if standard input is not a terminal.
pub(super) fn confirm(user: Option<UserId>) -> Result<(), CommandError> {
    if !io::stdin().is_terminal() {
        return Err(CommandError::Refused(format!(
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

#[cfg(test)]
mod tests {
    use super::*;

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
