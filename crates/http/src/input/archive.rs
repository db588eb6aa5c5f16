//! What only an export of this service holds: sessions and grants.

use super::node::{Fields, Node, Notes};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use companion_domain::{
    model::{GuildList, Membership, Timestamp, UserId},
    port::{Grant, GrantContent, GrantVersion, Sealed},
    session::Session,
};

/// Reads a session.
pub(super) fn session(fields: &mut Fields<'_, '_>, notes: &mut Notes) -> Option<Session> {
    let id = fields.required("id", notes).and_then(|node| node.text(notes));
    let user = fields.required("user", notes).and_then(|node| node.text(notes));
    let created_at = fields.required("created_at", notes).and_then(|node| micros(node, notes));
    let last_seen_at = fields.required("last_seen_at", notes).and_then(|node| micros(node, notes));
    Some(Session { id: id?, user: user?, created_at: created_at?, last_seen_at: last_seen_at? })
}

/// Reads a grant. Its tokens stay sealed.
pub(super) fn grant(fields: &mut Fields<'_, '_>, notes: &mut Notes) -> Option<(UserId, Grant)> {
    let user = fields.required("user", notes).and_then(|node| node.text(notes));
    let version = fields.required("version", notes).and_then(|node| version(node, notes));
    let tokens = fields.required("tokens", notes).and_then(|node| nullable(node, notes, sealed));
    let list = fields.required("list", notes).and_then(|node| nullable(node, notes, list));
    let content = GrantContent { tokens: tokens?, list: list? };
    Some((user?, Grant { version: version?, content }))
}

fn nullable<'v, T>(
    node: Node<'v, '_>,
    notes: &mut Notes,
    read: impl FnOnce(Node<'v, '_>, &mut Notes) -> Option<T>,
) -> Option<Option<T>> {
    if node.value.is_null() { Some(None) } else { read(node, notes).map(Some) }
}

fn micros(node: Node<'_, '_>, notes: &mut Notes) -> Option<Timestamp> {
    // No spelling with a fraction or an exponent here: it might not say exactly which number was meant.
    let micros = node.value.as_i64().map(Timestamp::from_micros);
    micros.or_else(|| node.refuse(notes, "must be a whole number of microseconds"))
}

fn version(node: Node<'_, '_>, notes: &mut Notes) -> Option<GrantVersion> {
    let version = node.value.as_u64().map(GrantVersion);
    version.or_else(|| node.refuse(notes, "must be a whole number that is not negative"))
}

fn sealed(node: Node<'_, '_>, notes: &mut Notes) -> Option<Sealed> {
    let bytes = node.value.as_str().and_then(|text| STANDARD.decode(text).ok());
    bytes.map(Sealed::from_bytes).or_else(|| node.refuse(notes, "must be base64"))
}

fn list(node: Node<'_, '_>, notes: &mut Notes) -> Option<GuildList> {
    let mut fields = node.fields(notes)?;
    let fetched_at = fields.required("fetched_at", notes).and_then(|node| micros(node, notes));
    let memberships = fields.required("guilds", notes).and_then(|node| node.list(notes, membership));
    fields.finish(notes);
    Some(GuildList { memberships: memberships?.into(), fetched_at: fetched_at? })
}

fn membership(node: Node<'_, '_>, notes: &mut Notes) -> Option<Membership> {
    let mut fields = node.fields(notes)?;
    let guild = fields.required("id", notes).and_then(|node| node.text(notes));
    let owner = fields.required("owner", notes).and_then(|node| node.boolean(notes));
    let permissions = fields.required("permissions", notes).and_then(|node| node.text(notes));
    fields.finish(notes);
    Some(Membership { guild: guild?, owner: owner?, permissions: permissions? })
}
