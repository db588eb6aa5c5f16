//! Feedback on the bot, and its rating.

use super::{FeedbackId, Invalid, Prose, Timestamp, User};

/// One entry of feedback.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feedback {
    /// The bot's id for it.
    pub id: FeedbackId,
    /// What was written.
    pub text: Prose,
    /// The stars.
    pub rating: Rating,
    /// When it was submitted, to the second.
    pub submitted_at: Timestamp,
    /// By whom, as they were known then.
    pub submitter: User,
}

/// A rating of one to five stars.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rating(u8);

impl Rating {
    /// The rating with this many stars.
    pub fn new(stars: i64) -> Result<Self, Invalid> {
        match u8::try_from(stars) {
            Ok(stars @ 1..=5) => Ok(Self(stars)),
            _ => Err(Invalid::new("rating", "a whole number from 1 to 5")),
        }
    }

    /// How many stars.
    #[must_use]
    pub const fn stars(self) -> u8 {
        self.0
    }

    /// Whether feedback with this rating is shown to the public: four or five stars.
    #[must_use]
    pub const fn is_positive(self) -> bool {
        self.0 >= 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratings_go_from_one_to_five_and_the_upper_two_are_positive() {
        let positive: Vec<_> = (1..=5).map(|stars| Rating::new(stars).unwrap().is_positive()).collect();
        assert_eq!(positive, [false, false, false, true, true]);
        assert_eq!(Rating::new(3).unwrap().stars(), 3);
        for stars in [i64::MIN, -1, 0, 6, 256 + 4, i64::MAX] {
            assert_eq!(Rating::new(stars).unwrap_err().field, "rating", "{stars}");
        }
    }
}
