//! One sample of each model, with plausible values. Tests change the fields they are about:
//!
//! ```
//! use companion_domain::model::Guild;
//! use companion_testkit::world::a_guild;
//!
//! let guild = Guild { setup: false, ..a_guild(7) };
//! ```
//!
//! Every function panics on invalid arguments, such as an id of zero.
#![expect(clippy::unwrap_used, reason = "invalid arguments fail the test at once")]

use companion_domain::{
    model::{
        Feedback, Guild, GuildId, Heartbeat, Megabytes, Member, MemberCount, Membership, Name, Number,
        PlatformPermissions, Rating, RoleId, RoleSet, Shard, ShardId, Shards, Slots, SubscribedGuilds,
        Subscription, TeamMember, Timestamp, User, UserId,
    },
    session::{Cutoffs, Session, TokenHash},
};

/// Cutoffs by which no session has ended.
pub const NONE_ENDED: Cutoffs = Cutoffs {
    created: Timestamp::from_micros(-1),
    seen: Timestamp::from_micros(-1),
    ahead: Timestamp::from_micros(i64::MAX),
};

/// Returns a user id.
#[must_use]
pub fn user_id(number: u64) -> UserId {
    UserId::new(number).unwrap()
}

/// Returns a guild id.
#[must_use]
pub fn guild_id(number: u64) -> GuildId {
    GuildId::new(number).unwrap()
}

/// Returns a name.
#[must_use]
pub fn name(text: &str) -> Name {
    text.parse().unwrap()
}

/// Returns a time this many seconds after the epoch.
#[must_use]
pub fn at(seconds: i64) -> Timestamp {
    Timestamp::from_seconds(seconds).unwrap()
}

/// Returns a set of platform roles.
#[must_use]
pub fn roles(numbers: &[u64]) -> RoleSet {
    RoleSet::new(numbers.iter().map(|number| RoleId::new(*number).unwrap()).collect()).unwrap()
}

/// Returns a user with a picture.
#[must_use]
pub fn a_user(id: u64) -> User {
    User {
        id: user_id(id),
        username: name(&format!("user{id}")),
        name: name(&format!("User {id}")),
        avatar: format!("https://cdn.example/avatars/{id}.png").parse().unwrap(),
    }
}

/// Returns a guild that is set up, with an icon and without bound roles.
#[must_use]
pub fn a_guild(id: u64) -> Guild {
    Guild {
        icon: Some(format!("https://cdn.example/icons/{id}.png").parse().unwrap()),
        members: MemberCount::new(42).unwrap(),
        setup: true,
        ..Guild::new(guild_id(id), name(&format!("Guild {id}")), user_id(1))
    }
}

/// Returns a member with these roles.
#[must_use]
pub fn a_member(guild: u64, user: u64, numbers: &[u64]) -> Member {
    Member { guild: guild_id(guild), user: user_id(user), roles: roles(numbers) }
}

/// Returns a guild in the platform's list, without ownership and permissions.
#[must_use]
pub fn a_membership(guild: u64) -> Membership {
    Membership { guild: guild_id(guild), owner: false, permissions: PlatformPermissions::default() }
}

/// Returns a guild in the platform's list that the user owns.
#[must_use]
pub fn an_ownership(guild: u64) -> Membership {
    Membership { owner: true, ..a_membership(guild) }
}

/// Returns a subscription with a slot for each of these guilds.
#[must_use]
pub fn a_subscription(user: u64, guilds: &[u64]) -> Subscription {
    Subscription {
        user: user_id(user),
        guilds: SubscribedGuilds::new(guilds.iter().copied().map(guild_id).collect()).unwrap(),
        slots: Slots::new(guilds.len() as u64).unwrap(),
    }
}

/// Returns feedback of user 1 with this many stars.
#[must_use]
pub fn a_feedback(id: &str, stars: i64) -> Feedback {
    Feedback {
        id: id.parse().unwrap(),
        text: format!("What I think: {id}").parse().unwrap(),
        rating: Rating::new(stars).unwrap(),
        submitted_at: at(1_767_000_000),
        submitter: a_user(1),
    }
}

/// Returns a team membership.
#[must_use]
pub fn a_team_member(user: u64, category: &str, position: i32) -> TeamMember {
    TeamMember {
        user: a_user(user),
        role: name("Developer"),
        color: "#1ABC9C".parse().unwrap(),
        category: name(category),
        position,
    }
}

/// Returns the report of a cluster with one healthy shard, number 0.
#[must_use]
pub fn a_heartbeat(cluster: &str, received_at: Timestamp) -> Heartbeat {
    let shard = Shard {
        heartbeat_sent: Number::Integer(1_767_000_000),
        heartbeat_acknowledged: Number::fraction(1_767_000_000.05).unwrap(),
        latency: Number::Integer(50),
    };
    Heartbeat {
        cluster: cluster.parse().unwrap(),
        memory: Megabytes::new(128.5).unwrap(),
        started_at: at(1_766_000_000),
        shards: Shards::new([(ShardId::new(0), shard)].into()).unwrap(),
        shard_count: None,
        sent_at: Some(Number::Integer(1_767_000_001)),
        received_at,
    }
}

/// Returns a session that was just created.
#[must_use]
pub fn a_session(number: u8, user: u64, created_at: Timestamp) -> Session {
    Session {
        id: TokenHash::from_bytes([number; 32]),
        user: user_id(user),
        created_at,
        last_seen_at: created_at,
        user_agent: None,
    }
}
