//! Values that are right alone and wrong together.

use super::{
    keys::Configuration,
    mistake::{Mistake, Source},
};

pub(super) fn check(configuration: &Configuration) -> Vec<Mistake> {
    let Configuration { http, management, guilds, limits, .. } = configuration;
    let rules = [
        (
            http.listen == management.listen && http.listen.port != 0,
            "management.listen",
            "is the same address as http.listen",
            "give each listener a port of its own",
        ),
        (
            guilds.refresh_after > guilds.stale_for,
            "guilds.stale_for",
            "is shorter than guilds.refresh_after, so a list would be refused before it is fetched again",
            "let guilds.stale_for be the longer of the two",
        ),
        (
            limits.connections_per_address > limits.connections,
            "limits.connections_per_address",
            "is more than limits.connections allows in all",
            "let limits.connections be the larger of the two",
        ),
    ];
    let broken = rules.into_iter().filter(|(broken, ..)| *broken);
    broken
        .map(|(_, key, problem, fix)| Mistake {
            source: Source::Together,
            key: key.to_owned(),
            problem: problem.to_owned(),
            fix: fix.to_owned(),
        })
        .collect()
}
