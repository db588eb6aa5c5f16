//! Checks whether the bot reports.

use super::{
    check::{Check, Installation, Subject},
    report::length,
};
use crate::system::SystemClock;
use companion_domain::port::Clock as _;
use companion_storage_diesel::Inspection;

const BOT: Subject = Subject::new("bot", "bot.silent_after");

pub(super) fn check(installation: &Installation, inspection: Option<&Inspection>) -> Check {
    let Some(found) = inspection.filter(|found| found.pending.is_empty()) else {
        return BOT.skipped("cannot be told before the database can be read");
    };
    let Some(last) = found.last_report else {
        return BOT.warning(
            "it has never reported",
            "let it PUT /bot/clusters/{cluster}/heartbeat on the management listener with the management key; docs/kits \
             has it ready-made",
        );
    };
    let silent_after = installation.configuration.bot.silent_after;
    let ago = SystemClock.now().age_of(last);
    if ago <= silent_after.get() {
        BOT.ok(format!("it reported {} ago", length(ago)))
    } else {
        BOT.warning(
            format!("it last reported {} ago, so it is shown as silent", length(ago)),
            "check that it runs, and that it reaches the management listener with a key that is accepted",
        )
    }
}
