//! `/bot/guilds/{guild}/why/{user}`: explains why a user sees a guild or does not, as `companion why` does.

use crate::request::{Call, answer};
use actix_web::HttpResponse;
use companion_domain::{
    model::Membership,
    policy::{Fact, Permission, Source},
    port::GuildWithRoles,
    rules::NotListed,
    usecase,
};
use companion_http::{
    ApiError,
    openapi::failure,
    shapes,
    wire::{self, Plus, Role, by_permission, snowflakes},
};
use companion_records::MemberRecord;
use serde::{Serialize, Serializer};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{Ref, RefOr, Schema},
};

/// Explain why a user sees a guild or does not
///
/// Uses stored data only; the platform is not asked. Unknown users and guilds are explained too.
#[utoipa::path(
    get, path = "/bot/guilds/{guild}/why/{user}", operation_id = "explainGuild", tag = "feed",
    responses((status = 200, description = "The explanation.", body = GuildExplanation<'_>), failure::Input)
)]
pub(crate) async fn explain(call: Call) -> Result<HttpResponse, ApiError> {
    let (guild, user) = call.key::<MemberRecord>()?;
    let explanation = call.read(call.context.use_cases.explain.explain(user, guild)).await?;
    let message = match explanation.verdict.listed {
        Ok(_) => "The user is shown the guild.",
        Err(_) => "The user is not shown the guild.",
    };
    answer(message, GuildExplanation::from(&explanation))
}

shapes! {
    /// What a user sees of a guild, and everything that counts for or against it.
    #[schema(as = Explanation)]
    pub(crate) struct GuildExplanation<'a>(explanation: &'a usecase::Explanation) {
        /// Whether the guild is in the user's list.
        listed: bool = explanation.verdict.listed.is_ok(),
        /// The role under which it is listed; null if it is not.
        #[schema(required, inline)]
        role: Option<Role> = explanation.verdict.listed.as_ref().ok().copied().map(Role::from),
        /// Everything that keeps it out of the list.
        obstacles: Vec<Obstacle> =
            explanation.verdict.listed.as_ref().err().into_iter().flatten().map(|why| (*why).into()).collect(),
        /// The platform's last list for the user; null if there is none.
        #[schema(required)]
        list: Option<LastList> = explanation.list.map(LastList::from),
        /// The guild's entry in that list; null if it has none.
        #[schema(required)]
        platform: Option<PlatformWord> = explanation.membership.map(PlatformWord::from),
        /// What the bot reported about the guild and the user; null if it did not report the guild.
        #[schema(required)]
        bot: Option<BotWord> = explanation.seen.as_ref().map(BotWord::from),
        /// Staff grants of the user.
        #[schema(examples(json!(["SUPPORT"])))]
        staff: Vec<&'static str> = explanation.user.staff.iter().map(|grant| grant.as_str()).collect(),
        plus: Plus = explanation.plus.as_deref().into(),
        permissions: Reasons<'a> = Reasons(explanation),
    }

    /// The platform's last list for a user.
    struct LastList(list: usecase::LastList) {
        /// Number of guilds in it.
        #[schema(minimum = 0, examples(12))]
        guilds: usize = list.guilds,
        /// Age of the list, in seconds.
        #[schema(minimum = 0, examples(42))]
        age: u64 = list.age.as_secs(),
        /// Whether it can be refreshed without the user.
        renewable: bool = list.renewable,
    }

    /// What the platform says about a user in a guild, as far as it counts.
    struct PlatformWord(membership: Membership) {
        /// Whether the user owns the guild.
        owner: bool = membership.owner,
        /// Whether the user has Administrator.
        administrator: bool = membership.permissions.administrator(),
        /// Whether the user has Manage Server.
        manage_server: bool = membership.permissions.manage_server(),
    }

    /// What the bot reported about a guild, and about a user in it.
    struct BotWord(seen: &GuildWithRoles) {
        /// Whether the bot has been set up in the guild.
        setup: bool = seen.guild.setup,
        /// Whether the guild is linked to a game server.
        linked: bool = seen.guild.linked,
        /// The user's platform roles.
        roles: Vec<wire::Snowflake> = snowflakes(seen.roles.as_slice()),
    }
}

/// Declares the names of the variants of a domain's enum on the wire.
macro_rules! names {
    ($(#[$meta:meta])* $name:ident of $domain:ty { $($variant:ident: $pattern:pat,)* }) => {
        #[derive(Serialize, ToSchema, PartialEq)]
        #[serde(rename_all = "snake_case")]
        $(#[$meta])*
        enum $name { $($variant),* }

        impl From<$domain> for $name {
            fn from(value: $domain) -> Self {
                match value { $($pattern => Self::$variant,)* }
            }
        }
    };
}

names! {
    /// A reason that keeps a guild out of a user's list.
    Obstacle of NotListed {
        Blocked: NotListed::Blocked,
        NotSignedIn: NotListed::NotSignedIn,
        WithoutList: NotListed::WithoutList,
        NotAMember: NotListed::NotAMember,
        WithoutBot: NotListed::WithoutBot,
        PlainMember: NotListed::PlainMember,
    }
}

names! {
    /// A fact that grants a permission.
    #[schema(as = Fact)]
    FactName of Fact {
        OwnsGuild: Fact::OwnsGuild,
        PlatformAdministrator: Fact::PlatformAdministrator,
        PlatformManageServer: Fact::PlatformManageServer,
        BoundRole: Fact::Bound(_),
        GuildSetUp: Fact::GuildSetUp,
        GuildLinked: Fact::GuildLinked,
        GuildHasPlus: Fact::GuildHasPlus,
        UserHasPlus: Fact::UserHasPlus,
        GrantedByName: Fact::Granted(_),
    }
}

/// All permissions by name, each with its reason.
struct Reasons<'a>(&'a usecase::Explanation);

impl Serialize for Reasons<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(Permission::ALL.iter().map(|key| (key.as_str(), Reason::of(*key, self.0))))
    }
}

impl PartialSchema for Reasons<'_> {
    fn schema() -> RefOr<Schema> {
        let description = "Every permission with its reason, from stored data. The user sees them only if the guild is listed.";
        by_permission(description, Ref::from_schema_name(Reason::name()))
    }
}

impl ToSchema for Reasons<'_> {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((Reason::name().into(), Reason::schema()));
        Reason::schemas(schemas);
    }
}

/// Why a permission is granted or not.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Reason {
    /// Whether it is granted.
    granted: bool,
    /// The permissions that imply it, the nearest first; empty if a fact grants it directly.
    #[schema(examples(json!(["ADMIN", "MANAGE_SERVER"])))]
    through: Vec<&'static str>,
    /// The fact at the end of that chain; null if it is not granted.
    #[schema(required)]
    because: Option<FactName>,
    /// The user's roles that count, if the fact is about roles.
    roles: Vec<wire::Snowflake>,
    /// What would grant it; null if it is granted.
    #[schema(required)]
    needs: Option<Needs>,
}

/// What would grant a permission. One of the facts is enough.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Needs {
    /// The facts that would grant it.
    because: Vec<FactName>,
    /// The roles that would grant it, if a fact is about roles.
    roles: Vec<wire::Snowflake>,
    /// Both as a sentence for people.
    #[schema(examples("Needs the role @Moderator, or Manage Server."))]
    text: String,
}

impl Reason {
    fn of(permission: Permission, explanation: &usecase::Explanation) -> Self {
        let needs = explanation.needs(permission).map(|needs| {
            // Several roles and several grants are one fact here.
            let mut because: Vec<_> = needs.facts.iter().copied().map(FactName::from).collect();
            because.dedup();
            let text = needs.text(explanation.outline.as_ref());
            Needs { because, roles: snowflakes(&needs.roles), text }
        });
        let mut reason =
            Self { granted: false, through: Vec::new(), because: None, roles: Vec::new(), needs };
        for source in explanation.verdict.decision.why(permission) {
            reason.granted = true;
            match source {
                Source::Implied(other) => reason.through.push(other.as_str()),
                Source::Fact(fact) => {
                    reason.because = Some(fact.into());
                    if let Fact::Bound(key) = fact {
                        let roles = explanation.roles_bound_to(key);
                        reason.roles = roles.into_iter().map(wire::Snowflake::from).collect();
                    }
                }
            }
        }
        reason
    }
}
