//! Users, feedback and the team.

use super::{Colour, FeedbackId, Invalid, Name, Prose, Timestamp, UserId, WebUrl};
use std::collections::HashSet;

/// A user of the chat platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// The platform's id.
    pub id: UserId,
    /// The unique name.
    pub username: Name,
    /// The display name.
    pub name: Name,
    /// The avatar; the platform's default one if the user has none.
    pub avatar: WebUrl,
}

/// How a user is shown to others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// The display name.
    pub name: Name,
    /// The avatar.
    pub avatar: WebUrl,
}

impl From<&User> for Profile {
    fn from(user: &User) -> Self {
        Self { name: user.name.clone(), avatar: user.avatar.clone() }
    }
}

/// One entry of feedback.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feedback {
    /// The bot's id for the entry.
    pub id: FeedbackId,
    /// The text.
    pub text: Prose,
    /// The number of stars.
    pub rating: Rating,
    /// When it was submitted, to the second.
    pub submitted_at: Timestamp,
    /// The submitter, as known at the time of submission.
    pub submitter: User,
}

/// A rating of one to five stars.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rating(u8);

impl Rating {
    /// Validates a number of stars.
    pub fn new(stars: i64) -> Result<Self, Invalid> {
        match u8::try_from(stars) {
            Ok(stars @ 1..=5) => Ok(Self(stars)),
            _ => Err(Invalid::new("rating", "a whole number from 1 to 5")),
        }
    }

    /// Returns the number of stars.
    #[must_use]
    pub const fn stars(self) -> u8 {
        self.0
    }

    /// Returns whether feedback with this rating is public: four or five stars.
    #[must_use]
    pub const fn is_positive(self) -> bool {
        self.0 >= 4
    }
}

/// A place in the team. A user may have several, each in another category.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TeamMember {
    /// The user.
    pub user: User,
    /// The title of the role.
    pub role: Name,
    /// The colour of the role.
    pub color: Colour,
    /// The category in which the place is shown.
    pub category: Name,
    /// The order within the category, ascending.
    pub position: i32,
}

impl TeamMember {
    /// Returns what identifies a place when the roster is replaced.
    #[must_use]
    pub fn key(&self) -> (super::UserId, &Name) {
        (self.user.id, &self.category)
    }
}

/// A whole team, without duplicate users in a category.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Roster(Vec<TeamMember>);

impl Roster {
    /// Maximum number of places. As usually filled in, that many take less than 64 KiB of JSON.
    pub const MAX: usize = 250;

    /// Validates a team. The error carries the index of the first duplicate, or of the first member over the limit.
    pub fn new(members: Vec<TeamMember>) -> Result<Self, (usize, Invalid)> {
        let mut seen = HashSet::with_capacity(members.len());
        if let Some(repeated) = members.iter().position(|member| !seen.insert(member.key())) {
            return Err((repeated, Invalid::new("team member", "listed once in a category")));
        }
        if members.len() > Self::MAX {
            return Err((Self::MAX, Invalid::new("team", "a list of at most 250 members")));
        }
        Ok(Self(members))
    }

    /// Returns the members in their original order.
    #[must_use]
    pub fn as_slice(&self) -> &[TeamMember] {
        &self.0
    }

    /// Returns the members in their original order.
    #[must_use]
    pub fn into_members(self) -> Vec<TeamMember> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::UserId;

    #[test]
    fn ratings_are_1_to_5_and_positive_from_4() {
        let positive: Vec<_> = (1..=5).map(|stars| Rating::new(stars).unwrap().is_positive()).collect();
        assert_eq!(positive, [false, false, false, true, true]);
        assert_eq!(Rating::new(3).unwrap().stars(), 3);
        for stars in [i64::MIN, -1, 0, 6, 256 + 4, i64::MAX] {
            assert_eq!(Rating::new(stars).unwrap_err().field, "rating", "{stars}");
        }
    }

    fn member(id: u64, category: &str) -> TeamMember {
        let name: Name = "Member".parse().unwrap();
        TeamMember {
            user: User {
                id: UserId::new(id).unwrap(),
                username: name.clone(),
                name: name.clone(),
                avatar: "https://cdn.example/a.png".parse().unwrap(),
            },
            role: name,
            color: "#112233".parse().unwrap(),
            category: category.parse().unwrap(),
            position: 1,
        }
    }

    #[test]
    fn rejects_a_user_twice_in_one_category() {
        let team = vec![member(1, "A"), member(1, "B"), member(2, "A")];
        let roster = Roster::new(team.clone()).unwrap();
        assert_eq!(roster.as_slice(), team);
        assert_eq!(roster.into_members(), team);
        let (index, error) = Roster::new(vec![member(1, "A"), member(2, "A"), member(1, "A")]).unwrap_err();
        assert_eq!((index, error.field), (2, "team member"));
    }

    #[test]
    fn rejects_more_than_250_members() {
        let team = |count| Roster::new((1..=count).map(|id| member(id, "A")).collect());
        assert_eq!(team(250).unwrap().as_slice().len(), Roster::MAX);
        let (index, error) = team(251).unwrap_err();
        assert_eq!((index, error.field), (Roster::MAX, "team"));
        assert!(error.expected.contains(&Roster::MAX.to_string()), "{error}");
    }
}
