//! Those who maintain the bot.

use super::sample_user;
use companion_domain::model::{Invalid, PictureServer, TeamMember, WebUrl};

/// Category, place in it, role, colour.
const TEAM: [(&str, i32, &str, &str); 6] = [
    ("Leadership", 1, "Founder", "#E67E22"),
    ("Leadership", 2, "Community Lead", "#F1C40F"),
    ("Engineering", 1, "Bot Developer", "#3498DB"),
    ("Engineering", 2, "Web Developer", "#1ABC9C"),
    ("Support", 1, "Support Lead", "#9B59B6"),
    ("Support", 2, "Documentation Writer", "#95A5A6"),
];

/// The order in which the categories are shown.
pub(super) const CATEGORIES: [&str; 3] = ["Leadership", "Engineering", "Support"];

pub(super) fn team(cdn: &WebUrl) -> Result<Vec<TeamMember>, Invalid> {
    let pictures = PictureServer::new(cdn.clone());
    let member = |(place, (category, position, role, color)): (usize, (&str, i32, &str, &str))| {
        let username = format!("sample_{}", role.to_lowercase().replace(' ', "_"));
        Ok(TeamMember {
            user: sample_user(400 + place as u64, &username, &format!("Sample {role}"), &pictures)?,
            role: role.parse()?,
            color: color.parse()?,
            category: category.parse()?,
            position,
        })
    };
    TEAM.into_iter().enumerate().map(member).collect()
}
