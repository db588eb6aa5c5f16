//! Guilds, the names of their channels and roles, members and subscriptions.

use crate::{
    format::{Format, Written},
    node::{FieldErrors, Node},
    record::{Nested, record},
    values::lists,
};
use companion_domain::model::{
    ChannelId, ChannelKind, Colour, Entries, Guild, GuildId, Label, Member, MemberCount, Name, Outline,
    OutlineChannel, OutlineRole, RoleBindings, RoleId, RoleSet, Slots, SubscribedGuilds, Subscription,
    UserId, WebUrl,
};
use serde::Serializer;
use utoipa::openapi::{ArrayBuilder, RefOr, Schema};

record! {
    /// A guild that has the bot.
    pub GuildRecord of Guild {
        key {
            /// The guild's id.
            id ["id"] in "guild": GuildId = id;
        }
        fields {
            name ["name"]: Name = name;
            /// The URL of the icon; null for the platform's default picture.
            icon ["icon"]: Option<WebUrl> = icon;
            /// Number of members.
            members ["members"]: MemberCount = members;
            /// The owner that is shown.
            owner ["owner"]: UserId = owner;
            /// Whether the bot has been set up there.
            setup ["setup"]: bool = setup;
            /// Whether it is linked to a game server.
            linked ["linked"]: bool = linked;
            /// Which platform roles carry which right. A key without roles may be absent.
            bindings ["roles"]: RoleBindings = bindings;
        }
        example {
            "name": "Harbour Town", "icon": null, "members": 1200, "owner": "190000000000000002", "setup": true,
            "linked": false, "roles": {"MOD": ["190000000000000003"]}
        }
    }
    Guild { id, name, icon, members, owner, setup, linked, bindings }
}

record! {
    /// The roles of a member of a guild.
    pub MemberRecord of Member {
        key {
            /// The guild's id.
            guild ["guild"] in "guild": GuildId = guild;
            /// The user's id.
            user ["user"] in "user": UserId = user;
        }
        fields {
            /// Platform roles.
            roles ["roles"]: RoleSet = roles;
        }
        example {"roles": ["190000000000000003"]}
    }
    Member { guild, user, roles }
}

record! {
    /// A user's premium subscription.
    pub SubscriptionRecord of Subscription {
        key {
            /// The user's id.
            user ["user"] in "user": UserId = user;
        }
        fields {
            /// The guilds that the subscription makes premium.
            guilds ["guilds"]: SubscribedGuilds = guilds;
            /// Number of guilds that the subscription may name.
            slots ["slots"]: Slots = slots;
        }
        example {"guilds": ["190000000000000001"], "slots": 3}
    }
    Subscription { user, guilds, slots }
}

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
