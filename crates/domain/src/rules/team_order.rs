//! The order in which the team is shown.

use crate::model::{Name, TeamMember};

/// Sorts a team by category (the configured ones first, in that order; then the others by name), then by position,
/// then by name. Ties are broken by id, so that the order is deterministic.
pub fn order_team(team: &mut [TeamMember], categories: &[Name]) {
    let rank = |member: &TeamMember| {
        categories.iter().position(|category| *category == member.category).unwrap_or(categories.len())
    };
    team.sort_by(|a, b| {
        let one = (rank(a), &a.category, a.position, &a.user.name, a.user.id);
        one.cmp(&(rank(b), &b.category, b.position, &b.user.name, b.user.id))
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{User, UserId};

    fn member(id: u64, name: &str, category: &str, position: i32) -> TeamMember {
        TeamMember {
            user: User {
                id: UserId::new(id).unwrap(),
                username: name.parse().unwrap(),
                name: name.parse().unwrap(),
                avatar: "https://cdn.example/a.png".parse().unwrap(),
            },
            role: "Helper".parse().unwrap(),
            color: "#112233".parse().unwrap(),
            category: category.parse().unwrap(),
            position,
        }
    }

    #[test]
    fn sorts_by_category_position_and_name() {
        let mut team = vec![
            member(1, "Ada", "Writers", 0),
            member(2, "Bea", "Artists", 0),
            member(3, "Cyd", "Support", 1),
            member(4, "Abe", "Support", 1),
            member(5, "Zoe", "Support", -1),
            member(6, "Max", "Board", 9),
            member(8, "Max", "Board", 9),
            member(7, "Max", "Board", 9),
        ];
        order_team(&mut team, &["Board".parse().unwrap(), "Support".parse().unwrap()]);
        let ids: Vec<_> = team.iter().map(|member| member.user.id.get()).collect();
        assert_eq!(ids, [6, 7, 8, 5, 4, 3, 2, 1]);
    }
}
