//! What the public sees of people: users, feedback and the team.

use super::{Colour, FeedbackId, Invalid, Name, Prose, Timestamp, UserId, WebUrl};
use std::collections::HashSet;

/// A user of the chat platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// The platform's id.
    pub id: UserId,
    /// The unique name.
    pub username: Name,
    /// The name that others see.
    pub name: Name,
    /// A picture; the platform's default one where the user has none.
    pub avatar: WebUrl,
}

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

/// A place in the team. One user may hold several, each in another category.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TeamMember {
    /// Who.
    pub user: User,
    /// The title of their role.
    pub role: Name,
    /// The colour of the role.
    pub color: Colour,
    /// The category in which they are shown.
    pub category: Name,
    /// Their place in the category: lower comes first.
    pub position: i32,
}

impl TeamMember {
    /// What makes a place in the team the same place when the roster is replaced.
    #[must_use]
    pub fn key(&self) -> (super::UserId, &Name) {
        (self.user.id, &self.category)
    }
}

/// A whole team, nobody twice in one category.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Roster(Vec<TeamMember>);

impl Roster {
    /// How many places a team can have. As people usually fill them in, so many are sent in less than 64 KiB.
    pub const MAX: usize = 250;

    /// This team. The error carries the place in the list that repeats an earlier one, or is one too many.
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

    /// Its members, in the order given.
    #[must_use]
    pub fn as_slice(&self) -> &[TeamMember] {
        &self.0
    }

    /// Its members, in the order given.
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
    fn ratings_go_from_one_to_five_and_the_upper_two_are_positive() {
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
    fn someone_may_be_in_two_categories_but_not_twice_in_one() {
        let team = vec![member(1, "A"), member(1, "B"), member(2, "A")];
        let roster = Roster::new(team.clone()).unwrap();
        assert_eq!(roster.as_slice(), team);
        assert_eq!(roster.into_members(), team);
        let (index, error) = Roster::new(vec![member(1, "A"), member(2, "A"), member(1, "A")]).unwrap_err();
        assert_eq!((index, error.field), (2, "team member"));
    }

    #[test]
    fn a_team_has_a_bounded_number_of_places() {
        let team = |count| Roster::new((1..=count).map(|id| member(id, "A")).collect());
        assert_eq!(team(250).unwrap().as_slice().len(), Roster::MAX);
        let (index, error) = team(251).unwrap_err();
        assert_eq!((index, error.field), (Roster::MAX, "team"));
        assert!(error.expected.contains(&Roster::MAX.to_string()), "{error}");
    }
}
