//! Asking before everyone is signed out.

use crate::command::failure::Failure;
use companion_domain::model::UserId;
use std::io::{self, BufRead, IsTerminal as _, Write};

/// Asks whoever sits at the terminal. Where nobody does, nothing is done.
pub(super) fn confirm(user: Option<UserId>) -> Result<(), Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::Unserviceable(format!(
            "{} would be signed out, and there is no terminal to ask on\n    fix: add --yes",
            whom(user)
        )));
    }
    if ask(user, &mut io::stdin().lock(), &mut io::stderr()) {
        Ok(())
    } else {
        Err(Failure::Failed("nothing was done".to_owned()))
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
    fn only_a_whole_yes_is_one() {
        for (answer, expected) in
            [("yes\n", true), (" yes \r\n", true), ("y\n", false), ("", false), ("no\n", false)]
        {
            let mut question = Vec::new();
            assert_eq!(ask(None, &mut answer.as_bytes(), &mut question), expected, "{answer:?}");
            assert_eq!(String::from_utf8(question).unwrap(), "Sign everyone out, on all devices? Type yes: ");
        }
    }
}
