//! Things that are stored and cannot be read.

use companion_domain::{
    model::{ClusterId, FeedbackId, GuildId, UserId},
    session::TokenHash,
};

/// What is to be damaged. It is stored when the author is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Damage {
    /// A session.
    Session(TokenHash),
    /// A user's grant, of which nothing can be read.
    Grant(UserId),
    /// The list in a user's grant alone.
    GuildList(UserId),
    /// A guild.
    Guild(GuildId),
    /// A member's roles.
    Member(GuildId, UserId),
    /// A user's subscription.
    Subscription(UserId),
    /// What a user was granted by name.
    Staff(UserId),
    /// An entry of feedback.
    Feedback(FeedbackId),
    /// A user's places in the team.
    TeamMember(UserId),
    /// A cluster's report.
    Cluster(ClusterId),
}
