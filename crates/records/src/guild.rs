//! Guilds, members and subscriptions.

use crate::record::record;
use companion_domain::model::{
    Guild, GuildId, Member, MemberCount, Name, RoleBindings, RoleSet, Slots, SubscribedGuilds, Subscription,
    UserId, WebUrl,
};

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
