//! What the bot feeds: guilds, members, subscriptions, staff, blocked users and feedback.

use super::node::{Fields, Node, Notes};
use companion_domain::model::{
    Feedback, FeedbackId, Guild, Invalid, Member, MemberCount, Rating, RoleBindings, RoleId, RoleKey,
    RoleSet, Slots, StaffGrant, StaffGrants, SubscribedGuilds, Subscription, User, UserId, WebUrl,
};
use std::{fmt::Display, str::FromStr};

/// Where the key of a record comes from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Key<T> {
    /// The request's path has it; the body may repeat it.
    Known(T),
    /// The request's path should have it, and has something else. That is noted already, so what the body says of it does
    /// not matter.
    Unreadable,
    /// The record has to say it.
    InRecord,
}

impl<T: FromStr<Err = Invalid> + PartialEq + Display> Key<T> {
    pub(super) fn read(
        self,
        name: &'static str,
        fields: &mut Fields<'_, '_>,
        notes: &mut Notes,
    ) -> Option<T> {
        match self {
            Self::InRecord => fields.required(name, notes)?.text(notes),
            Self::Unreadable => {
                fields.optional(name);
                None
            }
            Self::Known(key) => match fields.optional(name) {
                None => Some(key),
                Some(node) if node.text::<T>(notes)? == key => Some(key),
                Some(node) => node.refuse(notes, format!("must be {key}, as in the path, or left out")),
            },
        }
    }
}

/// Reads a guild.
pub(crate) fn guild(
    key: Key<companion_domain::model::GuildId>,
    fields: &mut Fields<'_, '_>,
    notes: &mut Notes,
) -> Option<Guild> {
    let id = key.read("id", fields, notes);
    let name = fields.required("name", notes).and_then(|node| node.text(notes));
    let icon = fields.required("icon", notes).and_then(|node| nullable_url(node, notes));
    let members = fields.required("members", notes).and_then(|node| count(node, MemberCount::new, notes));
    let owner = fields.required("owner", notes).and_then(|node| node.text(notes));
    let setup = fields.required("setup", notes).and_then(|node| node.boolean(notes));
    let linked = fields.required("linked", notes).and_then(|node| node.boolean(notes));
    let bindings = fields.required("roles", notes).and_then(|node| bindings(node, notes));
    Some(Guild {
        id: id?,
        name: name?,
        icon: icon?,
        members: members?,
        owner: owner?,
        setup: setup?,
        linked: linked?,
        bindings: bindings?,
    })
}

fn nullable_url(node: Node<'_, '_>, notes: &mut Notes) -> Option<Option<WebUrl>> {
    if node.value.is_null() { Some(None) } else { node.text(notes).map(Some) }
}

fn count<T>(
    node: Node<'_, '_>,
    make: impl FnOnce(u64) -> Result<T, Invalid>,
    notes: &mut Notes,
) -> Option<T> {
    node.integer(|number| make(u64::try_from(number).unwrap_or(u64::MAX)), notes)
}

fn bindings(node: Node<'_, '_>, notes: &mut Notes) -> Option<RoleBindings> {
    let bound = node.map(notes, |name, node, notes| {
        let roles = role_set(node, notes);
        let key: Option<RoleKey> = node.accept(name.parse(), notes);
        Some((key?, roles?))
    })?;
    Some(RoleBindings::new(bound))
}

fn role_set(node: Node<'_, '_>, notes: &mut Notes) -> Option<RoleSet> {
    let roles: Vec<RoleId> = node.list(notes, |node, notes| node.text(notes))?;
    node.accept(RoleSet::new(roles), notes)
}

/// Reads a member's roles.
pub(crate) fn member(
    guild: Key<companion_domain::model::GuildId>,
    user: Key<UserId>,
    fields: &mut Fields<'_, '_>,
    notes: &mut Notes,
) -> Option<Member> {
    let guild = guild.read("guild", fields, notes);
    let user = user.read("user", fields, notes);
    let roles = fields.required("roles", notes).and_then(|node| role_set(node, notes));
    Some(Member { guild: guild?, user: user?, roles: roles? })
}

/// Reads a subscription.
pub(crate) fn subscription(
    user: Key<UserId>,
    fields: &mut Fields<'_, '_>,
    notes: &mut Notes,
) -> Option<Subscription> {
    let user = user.read("user", fields, notes);
    let guilds = fields.required("guilds", notes).and_then(|node| {
        let guilds = node.list(notes, |node, notes| node.text(notes))?;
        node.accept(SubscribedGuilds::new(guilds), notes)
    });
    let slots = fields.required("slots", notes).and_then(|node| count(node, Slots::new, notes));
    Some(Subscription { user: user?, guilds: guilds?, slots: slots? })
}

/// Reads what a user is granted by name.
pub(crate) fn staff(
    user: Key<UserId>,
    fields: &mut Fields<'_, '_>,
    notes: &mut Notes,
) -> Option<(UserId, StaffGrants)> {
    let user = user.read("user", fields, notes);
    let grants: Option<Vec<StaffGrant>> = fields
        .required("permissions", notes)
        .and_then(|node| node.list(notes, |node, notes| node.text(notes)));
    Some((user?, grants?.into_iter().collect()))
}

/// Reads a blocked user.
pub(crate) fn blocked(user: Key<UserId>, fields: &mut Fields<'_, '_>, notes: &mut Notes) -> Option<UserId> {
    user.read("user", fields, notes)
}

/// Reads an entry of feedback.
pub(crate) fn feedback(
    id: Key<FeedbackId>,
    fields: &mut Fields<'_, '_>,
    notes: &mut Notes,
) -> Option<Feedback> {
    let id = id.read("id", fields, notes);
    let text = fields.required("feedback", notes).and_then(|node| node.text(notes));
    let rating = fields.required("rating", notes).and_then(|node| node.integer(Rating::new, notes));
    let submitted_at = fields.required("timestamp", notes).and_then(|node| node.seconds(notes));
    let submitter = fields.required("submitter", notes).and_then(|node| user(node, notes));
    Some(Feedback {
        id: id?,
        text: text?,
        rating: rating?,
        submitted_at: submitted_at?,
        submitter: submitter?,
    })
}

fn user(node: Node<'_, '_>, notes: &mut Notes) -> Option<User> {
    let mut fields = node.fields(notes)?;
    let username = fields.required("username", notes).and_then(|node| node.text(notes));
    let name = fields.required("name", notes).and_then(|node| node.text(notes));
    let id = fields.required("id", notes).and_then(|node| node.text(notes));
    let avatar = fields.required("avatar", notes).and_then(|node| node.text(notes));
    fields.finish(notes);
    Some(User { id: id?, username: username?, name: name?, avatar: avatar? })
}
