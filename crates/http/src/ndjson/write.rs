//! Writing records as lines.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use companion_domain::{
    model::{Feedback, Guild, TeamMember, User},
    port::{Grant, Record},
};
use serde_json::{Value, json};

/// Writes a record as one line, newline included. Reading it back gives the same record.
#[must_use]
pub fn write_record(record: &Record) -> String {
    let line = match record {
        Record::Guild(it) => guild(it),
        Record::Member(it) => {
            let roles: Vec<_> = it.roles.as_slice().iter().map(ToString::to_string).collect();
            json!({"kind": "member", "guild": it.guild.to_string(), "user": it.user.to_string(), "roles": roles})
        }
        Record::Subscription(it) => {
            let guilds: Vec<_> = it.guilds.as_slice().iter().map(ToString::to_string).collect();
            json!({"kind": "plus", "user": it.user.to_string(), "guilds": guilds, "slots": it.slots.get()})
        }
        Record::Staff(user, grants) => {
            let permissions: Vec<_> = grants.iter().map(|grant| grant.as_str()).collect();
            json!({"kind": "staff", "user": user.to_string(), "permissions": permissions})
        }
        Record::Blocked(user) => json!({"kind": "blocked", "user": user.to_string()}),
        Record::Feedback(it) => feedback(it),
        Record::TeamMember(it) => team_member(it),
        Record::Session(it) => json!({
            "kind": "session", "id": it.id.to_string(), "user": it.user.to_string(),
            "created_at": it.created_at.micros(), "last_seen_at": it.last_seen_at.micros(),
        }),
        Record::Grant(user, it) => grant(&user.to_string(), it),
    };
    format!("{line}\n")
}

fn guild(guild: &Guild) -> Value {
    let roles: serde_json::Map<_, _> = guild
        .bindings
        .iter()
        .map(|(key, roles)| {
            let ids: Vec<_> = roles.as_slice().iter().map(ToString::to_string).collect();
            (key.to_string(), json!(ids))
        })
        .collect();
    json!({
        "kind": "guild", "id": guild.id.to_string(), "name": guild.name.as_str(),
        "icon": guild.icon.as_ref().map(|icon| icon.as_str()), "members": guild.members.get(),
        "owner": guild.owner.to_string(), "setup": guild.setup, "linked": guild.linked, "roles": roles,
    })
}

fn feedback(feedback: &Feedback) -> Value {
    let User { id, username, name, avatar } = &feedback.submitter;
    json!({
        "kind": "feedback", "id": feedback.id.as_str(), "feedback": feedback.text.as_str(),
        "rating": feedback.rating.stars(), "timestamp": feedback.submitted_at.seconds(),
        "submitter": {
            "username": username.as_str(), "name": name.as_str(), "id": id.to_string(), "avatar": avatar.as_str(),
        },
    })
}

fn team_member(member: &TeamMember) -> Value {
    let User { id, username, name, avatar } = &member.user;
    json!({
        "kind": "team", "username": username.as_str(), "name": name.as_str(), "avatar": avatar.as_str(),
        "discord_id": id.to_string(), "role": member.role.as_str(), "color": member.color.as_str(),
        "category": member.category.as_str(), "position": member.position,
    })
}

fn grant(user: &str, grant: &Grant) -> Value {
    let tokens = grant.content.tokens.as_ref().map(|sealed| STANDARD.encode(sealed.as_bytes()));
    let list = grant.content.list.as_ref().map(|list| {
        let guilds: Vec<_> = list
            .memberships
            .iter()
            .map(|it| {
                json!({"id": it.guild.to_string(), "owner": it.owner, "permissions": it.permissions.bits().to_string()})
            })
            .collect();
        json!({"fetched_at": list.fetched_at.micros(), "guilds": guilds})
    });
    json!({"kind": "grant", "user": user, "version": grant.version.0, "tokens": tokens, "list": list})
}
