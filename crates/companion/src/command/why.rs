//! `companion why USER GUILD`: explains listing and permissions in plain language.

use super::{
    output::{counted, print},
    stored::with_storage,
};
use crate::{
    configuration::Configuration,
    error::{ProgramError, failed, with_causes},
    system::SystemClock,
};
use companion_domain::{
    model::{GuildId, Membership, Subscription, Timestamp, UserId},
    policy::{Fact, Permission, Source},
    port::GuildWithRoles,
    rules::{NotListed, in_words},
    usecase::{ExplainGuild, Explanation, Freshness, LastList},
};
use std::{
    fmt::{Display, Write as _},
    sync::Arc,
};

pub(super) fn run(configuration: &Configuration, user: UserId, guild: GuildId) -> Result<(), ProgramError> {
    let explanation = with_storage(configuration, async |storage| {
        let stores = storage.stores();
        let (listings, records) = (stores.listings(), stores.records.clone());
        let explain = ExplainGuild { listings, records, clock: Arc::new(SystemClock) };
        explain.explain(user, guild).await.map_err(|error| failed(with_causes(&error)))
    })?;
    let freshness = Freshness {
        refresh_after: configuration.guilds.refresh_after,
        stale_for: configuration.guilds.stale_for,
    };
    print(&report(user, guild, &explanation, freshness))
}

fn report(user: UserId, guild: GuildId, explanation: &Explanation, freshness: Freshness) -> String {
    // Debug formatting escapes control characters, which could drive the terminal.
    let name =
        explanation.seen.as_ref().map(|seen| format!(" {:?}", seen.guild.name.as_str())).unwrap_or_default();
    let mut text = format!("User {user} in guild {guild}{name}\n\n");
    match &explanation.verdict.listed {
        Ok(role) => {
            let _ = writeln!(text, "Listed: yes, as {role}");
        }
        Err(obstacles) => {
            text.push_str("Listed: no\n");
            for kept_out in obstacles {
                let _ = writeln!(text, "  - {}", obstacle(*kept_out));
            }
        }
    }
    let _ = write!(
        text,
        "\nLast list:       {}\nPlatform says:   {}\nBot says:        {}\nGranted by name: {}\nPremium:         {}\n\n",
        list(explanation.list, freshness),
        membership(explanation.membership),
        seen(explanation.seen.as_ref()),
        joined(explanation.user.staff.iter()).unwrap_or_else(|| "nothing".to_owned()),
        premium(explanation.plus.as_deref()),
    );
    text.push_str(match explanation.verdict.listed {
        Ok(_) => "Permissions:\n",
        Err(_) => "Permissions by known facts; hidden while the guild is not listed:\n",
    });
    for permission in Permission::ALL {
        let _ = writeln!(text, "  {:19}  {}", permission.as_str(), reasons(permission, explanation));
    }
    text
}

const fn obstacle(obstacle: NotListed) -> &'static str {
    match obstacle {
        NotListed::Blocked => "the user is blocked: signing in and GET /guilds are answered with 403",
        NotListed::NotSignedIn => {
            "the user is not signed in: they never were, or their last session has ended"
        }
        NotListed::WithoutList => {
            "the platform has not given the user's list of guilds yet; each request asks again"
        }
        NotListed::NotAMember => "the platform's last list for the user does not have the guild",
        NotListed::WithoutBot => "the bot does not report the guild",
        NotListed::PlainMember => "the user is a plain member: none of the permissions below makes a role",
    }
}

fn list(list: Option<LastList>, freshness: Freshness) -> String {
    let Some(LastList { guilds, age, renewable }) = list else { return "none".to_owned() };
    let next = if !renewable {
        "it stays until the user signs in again".to_owned()
    } else if age >= freshness.stale_for.get() {
        "the next request needs a newer one from the platform".to_owned()
    } else if age >= freshness.refresh_after.get() {
        "the next request asks the platform for a newer one".to_owned()
    } else {
        format!("the platform is asked for a newer one after {}", freshness.refresh_after)
    };
    let old = if age >= Timestamp::LONG_AGO {
        "dated ahead, as before the clock was set back".to_owned()
    } else {
        format!("{} old", in_words(age))
    };
    format!("{}, {old}; {next}", counted(guilds, "guild"))
}

fn membership(membership: Option<Membership>) -> String {
    let Some(membership) = membership else { return "nothing about the user in the guild".to_owned() };
    let powers = [
        (membership.owner, "owns the guild"),
        (membership.permissions.administrator(), "has Administrator"),
        (membership.permissions.manage_server(), "has Manage Server"),
    ];
    let held = joined(powers.iter().filter(|(holds, _)| *holds).map(|(_, power)| power));
    format!("the user {}", held.unwrap_or_else(|| "is a member, with no permission that counts".to_owned()))
}

fn seen(seen: Option<&GuildWithRoles>) -> String {
    let Some(GuildWithRoles { guild, roles }) = seen else { return "nothing about the guild".to_owned() };
    let state = [
        if guild.setup { "set up" } else { "not set up" },
        if guild.linked { "linked to a game server" } else { "not linked to a game server" },
    ];
    let held =
        joined(roles.as_slice()).map_or_else(|| "no roles".to_owned(), |ids| format!("the roles {ids}"));
    format!("{}; the user has {held}", state.join(", "))
}

fn premium(plus: Option<&Subscription>) -> String {
    plus.map_or_else(
        || "no; no subscription names the guild".to_owned(),
        |Subscription { user, guilds, slots }| {
            let guilds = counted(guilds.as_slice().len(), "guild");
            format!("yes, by the subscription of user {user} ({guilds}, {})", counted(slots.get(), "slot"))
        },
    )
}

/// Returns whether the permission is granted, with the chain from it down to a fact, or with what it needs.
fn reasons(permission: Permission, explanation: &Explanation) -> String {
    if let Some(needs) = explanation.needs(permission) {
        let needs = needs.text(explanation.outline.as_ref());
        // Names of roles may contain control characters, too.
        return format!("no   {}", needs.replace(char::is_control, "\u{fffd}"));
    }
    let mut way = Vec::new();
    for source in explanation.verdict.decision.why(permission) {
        match source {
            Source::Implied(other) => way.push(format!("through {other}")),
            Source::Fact(held) if way.is_empty() => return format!("yes  {}", fact(held, explanation)),
            Source::Fact(held) => return format!("yes  {}: {}", way.join(", "), fact(held, explanation)),
        }
    }
    "yes".to_owned()
}

fn fact(fact: Fact, explanation: &Explanation) -> String {
    match fact {
        Fact::OwnsGuild => "the user owns the guild".to_owned(),
        Fact::PlatformAdministrator => "the platform gives the user Administrator".to_owned(),
        Fact::PlatformManageServer => "the platform gives the user Manage Server".to_owned(),
        Fact::Bound(key) => {
            let roles = joined(explanation.roles_bound_to(key)).unwrap_or_default();
            format!("the user has role {roles}, bound to {key} in the guild")
        }
        Fact::GuildSetUp => "the bot is set up in the guild".to_owned(),
        Fact::GuildLinked => "the guild is linked to a game server".to_owned(),
        Fact::GuildHasPlus => "a subscription names the guild".to_owned(),
        Fact::UserHasPlus => "the user has a subscription with slots or guilds".to_owned(),
        Fact::Granted(_) => "granted to the user by name".to_owned(),
    }
}

fn joined(items: impl IntoIterator<Item = impl Display>) -> Option<String> {
    let items: Vec<_> = items.into_iter().map(|item| item.to_string()).collect();
    if items.is_empty() { None } else { Some(items.join(", ")) }
}
