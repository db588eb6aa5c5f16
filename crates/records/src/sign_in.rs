//! Sessions and grants, which only an export of this service contains. Tokens stay sealed.

use crate::{
    format::OrDefault,
    record::{Nested, record},
    values::Micros,
};
use companion_domain::{
    model::{GuildId, GuildList, Membership, Name, NamedGuild, PlatformPermissions, Profile, UserId, WebUrl},
    port::{Grant, GrantContent, GrantVersion, Sealed},
    session::{Session, TokenHash, UserAgent},
};
use std::sync::Arc;

record! {
    /// A session.
    pub SessionRecord of Session {
        key {
            /// The SHA-256 of its token.
            id ["id"] in "id": TokenHash = id;
        }
        fields {
            user ["user"]: UserId = user;
            /// In microseconds since 1970.
            created_at ["created_at"]: Micros = created_at;
            /// In microseconds since 1970.
            last_seen_at ["last_seen_at"]: Micros = last_seen_at;
            /// The user agent at the sign-in. Absent in files of older versions.
            user_agent ["user_agent"]: OrDefault<Option<UserAgent>> = user_agent;
        }
    }
    Session { id, user, created_at, last_seen_at, user_agent }
}

record! {
    /// The platform's grant for a user.
    pub GrantRecord of (UserId, Grant) {
        key {
            /// The user's id.
            user ["user"] in "user": UserId = 0;
        }
        fields {
            version ["version"]: u64 = 1.version.0;
            /// Sealed; null if they are not stored.
            tokens ["tokens"]: Option<Sealed> = 1.content.tokens;
            /// The platform's last list of the user's guilds; null if there is none.
            list ["list"]: Option<Nested<ListRecord>> = 1.content.list;
            /// The user's name and picture. Absent in files of older versions.
            profile ["profile"]: OrDefault<Option<Nested<ProfileRecord>>> = 1.content.profile;
        }
    }
    (user, Grant { version: GrantVersion(version), content: GrantContent { tokens, list, profile } })
}

record! {
    /// The name and picture of a user.
    pub(crate) ProfileRecord of Profile {
        fields {
            name ["name"]: Name = name;
            avatar ["avatar"]: WebUrl = avatar;
        }
    }
    Profile { name, avatar }
}

record! {
    /// A list of a user's guilds.
    pub(crate) ListRecord of GuildList {
        fields {
            /// In microseconds since 1970.
            fetched_at ["fetched_at"]: Micros = fetched_at;
            memberships ["guilds"]: Arc<[Nested<MembershipRecord>]> = memberships;
            /// Guilds that the user manages and that lack the bot. Absent in files of older versions.
            without_bot ["without_bot"]: OrDefault<Vec<Nested<NamedGuildRecord>>> = without_bot;
        }
    }
    GuildList { memberships, without_bot, fetched_at }
}

record! {
    /// The name and icon of a guild without the bot.
    pub(crate) NamedGuildRecord of NamedGuild {
        fields {
            guild ["id"]: GuildId = guild;
            name ["name"]: Name = name;
            icon ["icon"]: Option<WebUrl> = icon;
        }
    }
    NamedGuild { guild, name, icon }
}

record! {
    /// What the platform reports about a user in a guild.
    pub(crate) MembershipRecord of Membership {
        fields {
            guild ["id"]: GuildId = guild;
            owner ["owner"]: bool = owner;
            permissions ["permissions"]: PlatformPermissions = permissions;
        }
    }
    Membership { guild, owner, permissions }
}
