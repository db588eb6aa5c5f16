//! Members of guilds.

use crate::record::record;
use companion_domain::model::{GuildId, Member, RoleSet, UserId};

record! {
    /// The roles of a member of a guild.
    pub MemberRecord("member") of Member {
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
