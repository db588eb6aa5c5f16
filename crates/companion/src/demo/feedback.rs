//! What people think of the bot.

use super::sample_user;
use companion_domain::model::{Feedback, Invalid, PictureServer, Rating, Timestamp, WebUrl};
use std::time::Duration;

/// Stars, days ago, words.
const OPINIONS: [(i64, u64, &str); 12] = [
    (5, 1, "Set up in ten minutes, and our staff has not asked a question since."),
    (4, 3, "Shift logging is exactly what we needed. A darker theme would be lovely."),
    (5, 4, "The permissions make sense at first sight."),
    (2, 6, "Commands were slow on the weekend."),
    (5, 9, "Support answered before I had finished typing."),
    (4, 12, "Does what it says."),
    (3, 15, "Good, but the reminders come too early for us."),
    (5, 21, "We moved three servers over, and nobody noticed. That is praise."),
    (1, 27, "Not for us: we only wanted a music bot."),
    (5, 33, "The dashboard finally shows who may do what."),
    (4, 48, "Reliable. It was down once in half a year."),
    (5, 64, ""),
];

/// Every opinion, counted back from `now`.
pub(super) fn feedback(now: Timestamp, cdn: &WebUrl) -> Result<Vec<Feedback>, Invalid> {
    let pictures = PictureServer::new(cdn.clone());
    let entry = |(place, (stars, days, text)): (usize, (i64, u64, &str))| {
        let at = now.before(Duration::from_secs(days * 24 * 60 * 60));
        let number = place + 1;
        Ok(Feedback {
            id: format!("sample-{number}").parse()?,
            text: text.parse()?,
            rating: Rating::new(stars)?,
            submitted_at: Timestamp::from_seconds(at.seconds().max(0))?,
            submitter: sample_user(
                300 + place as u64,
                &format!("sample_guest_{number}"),
                &format!("Sample Guest {number}"),
                &pictures,
            )?,
        })
    };
    OPINIONS.into_iter().enumerate().map(entry).collect()
}
