//! `companion why USER GUILD`.

mod words;

use super::{
    failure::{Failure, with_causes},
    output::print,
    stored::with_storage,
};
use crate::{configuration::Configuration, system::SystemClock};
use companion_domain::{
    model::{GuildId, UserId},
    policy::Permission,
    usecase::{ExplainGuild, Explanation, Freshness},
};
use std::{fmt::Write as _, sync::Arc};

pub(super) fn run(configuration: &Configuration, user: UserId, guild: GuildId) -> Result<(), Failure> {
    let explanation = with_storage(configuration, async |storage| {
        let explain = ExplainGuild { listings: storage.stores().listings(), clock: Arc::new(SystemClock) };
        explain.explain(user, guild).await.map_err(|error| Failure::Failed(with_causes(&error)))
    })?;
    let freshness = Freshness {
        refresh_after: configuration.guilds.refresh_after,
        stale_for: configuration.guilds.stale_for,
    };
    print(&report(user, guild, &explanation, freshness))
}

fn report(user: UserId, guild: GuildId, explanation: &Explanation, freshness: Freshness) -> String {
    // A name can hold what a terminal would obey, so it is shown escaped.
    let name = explanation.seen.as_ref().map(|seen| format!(" {:?}", seen.guild.name)).unwrap_or_default();
    let mut text = format!("User {user} in guild {guild}{name}\n\n");
    match &explanation.verdict.listed {
        Ok(role) => {
            let _ = writeln!(text, "Listed: yes, as {role}");
        }
        Err(obstacles) => {
            text.push_str("Listed: no\n");
            for obstacle in obstacles {
                let _ = writeln!(text, "  - {}", words::obstacle(*obstacle));
            }
        }
    }
    let _ = write!(
        text,
        "\nLast list:       {}\nPlatform says:   {}\nBot says:        {}\nGranted by name: {}\nPremium:         {}\n\n",
        words::list(explanation.list, freshness),
        words::membership(explanation.membership),
        words::seen(explanation.seen.as_ref()),
        words::joined(explanation.user.staff.iter()).unwrap_or_else(|| "nothing".to_owned()),
        words::premium(explanation.plus.as_deref()),
    );
    text.push_str(match explanation.verdict.listed {
        Ok(_) => "Permissions:\n",
        Err(_) => "Permissions, by what is known; nobody is shown them while the guild is not listed:\n",
    });
    for permission in Permission::ALL {
        let _ = writeln!(text, "  {:19}  {}", permission.as_str(), words::reasons(*permission, explanation));
    }
    text
}
