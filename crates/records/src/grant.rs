//! Grants, which only an export of this service contains. Their tokens stay sealed.

use crate::{
    format::{Format, Optional, Written},
    node::{FieldErrors, Node},
    record::{Nested, record},
    values::Micros,
};
use companion_domain::{
    model::{GuildId, GuildList, Membership, Name, NamedGuild, PlatformPermissions, Profile, UserId, WebUrl},
    port::{Grant, GrantContent, GrantVersion, Sealed},
};
use serde::Serializer;
use std::sync::Arc;
use utoipa::openapi::{ArrayBuilder, RefOr, Schema};

record! {
    /// The platform's grant for a user.
    pub GrantRecord of (UserId, Grant) {
        key {
            /// The user's id.
            user ["user"] in "user": UserId = 0;
        }
        fields {
            version ["version"]: GrantVersion = 1.version;
            /// Sealed; null if they are not stored.
            tokens ["tokens"]: Option<Sealed> = 1.content.tokens;
            /// The platform's last list of the user's guilds; null if there is none.
            list ["list"]: Option<Nested<ListRecord>> = 1.content.list;
            /// The user's name and picture. Absent in files of older versions.
            profile ["profile"]: Optional<Nested<ProfileRecord>> = 1.content.profile;
        }
    }
    (user, Grant { version, content: GrantContent { tokens, list, profile } })
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
            memberships ["guilds"]: Memberships = memberships;
            /// Guilds that the user manages and that lack the bot. Absent in files of older versions.
            without_bot ["without_bot"]: NamedGuilds = without_bot;
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

enum Memberships {}

impl Format for Memberships {
    type Value = Arc<[Membership]>;

    fn read(node: Node<'_, '_>, errors: &mut FieldErrors) -> Option<Self::Value> {
        node.list(errors, Nested::<MembershipRecord>::read).map(Into::into)
    }

    fn write<S: Serializer>(value: &Self::Value, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(value.iter().map(Written::<Nested<MembershipRecord>>))
    }

    fn schema() -> RefOr<Schema> {
        ArrayBuilder::new().items(Nested::<MembershipRecord>::schema()).into()
    }
}

enum NamedGuilds {}

impl Format for NamedGuilds {
    type Value = Vec<NamedGuild>;

    const ABSENT: Option<Self::Value> = Some(Vec::new());

    fn read(node: Node<'_, '_>, errors: &mut FieldErrors) -> Option<Self::Value> {
        node.list(errors, Nested::<NamedGuildRecord>::read)
    }

    fn is_written(value: &Self::Value) -> bool {
        !value.is_empty()
    }

    fn write<S: Serializer>(value: &Self::Value, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(value.iter().map(Written::<Nested<NamedGuildRecord>>))
    }

    fn schema() -> RefOr<Schema> {
        ArrayBuilder::new().items(Nested::<NamedGuildRecord>::schema()).into()
    }
}
