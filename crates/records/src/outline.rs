//! Names of the channels and roles of a guild.

use crate::{
    format::{Format, Written},
    node::{FieldErrors, Node},
    record::{Nested, record},
    values::lists,
};
use companion_domain::model::{
    ChannelId, ChannelKind, Colour, Entries, GuildId, Label, Outline, OutlineChannel, OutlineRole, RoleId,
};
use serde::Serializer;
use utoipa::openapi::{ArrayBuilder, RefOr, Schema};

record! {
    /// A channel of a guild.
    pub ChannelRecord of OutlineChannel {
        fields {
            id ["id"]: ChannelId = id;
            name ["name"]: Label = name;
            /// What the channel is for.
            kind ["kind"]: ChannelKind = kind;
        }
    }
    OutlineChannel { id, name, kind }
}

record! {
    /// A role of a guild.
    pub RoleRecord of OutlineRole {
        fields {
            id ["id"]: RoleId = id;
            name ["name"]: Label = name;
            /// The colour, or null if the role has none of its own.
            colour ["color"]: Option<Colour> = colour;
        }
    }
    OutlineRole { id, name, colour }
}

record! {
    /// The names of a guild's channels and roles, for the forms of its settings.
    pub OutlineRecord of Outline {
        key {
            /// The guild's id.
            guild ["guild"] in "guild": GuildId = guild;
        }
        fields {
            /// The channels, in the order shown.
            channels ["channels"]: Entries<OutlineChannel> = channels;
            /// The roles, in the order shown.
            roles ["roles"]: Entries<OutlineRole> = roles;
        }
        example {
            "channels": [{"id": "190000000000000011", "name": "general", "kind": "text"}],
            "roles": [{"id": "190000000000000003", "name": "Moderator", "color": "#1ABC9C"}]
        }
    }
    Outline { guild, channels, roles }
}

/// Maximum size of an entry in bytes: a name in escapes, and room for the rest.
const MAX_ENTRY_BYTES: usize = 12 * *Label::LENGTH.end() + 128;

impl OutlineRecord {
    /// Size of the largest valid outline, in bytes.
    pub const MAX_BYTES: usize = 2 * Entries::<OutlineRole>::MAX * MAX_ENTRY_BYTES + 1024;
}

lists!(Entries<OutlineChannel>: Nested<ChannelRecord>, Entries<OutlineRole>: Nested<RoleRecord>);
