//! `companion why USER GUILD`.

use crate::program::{Finished, Program};
use std::{fs, sync::Arc};
use tempfile::TempDir;

/// Guild 500 has the bot, and 600 does not. Each user but 6 signed in, and each is a case of their own.
const WORLD: &str = r#"{"kind":"guild","id":"500","name":"Night \u001b[31mOwls","icon":null,"members":3,"owner":"1","setup":true,"linked":true,"roles":{"MOD":["50","51"]}}
{"kind":"member","guild":"500","user":"2","roles":["49","51"]}
{"kind":"plus","user":"9","guilds":["500"],"slots":2}
{"kind":"plus","user":"3","guilds":[],"slots":1}
{"kind":"staff","user":"3","permissions":["BOT_DEVELOPER","SUPPORT"]}
{"kind":"blocked","user":"5"}
{"kind":"grant","user":"1","version":1,"tokens":"c2VhbGVk","list":{"fetched_at":1700000000000000,"guilds":[{"id":"500","owner":true,"permissions":"8"},{"id":"600","owner":true,"permissions":"0"}]}}
{"kind":"grant","user":"2","version":1,"tokens":null,"list":{"fetched_at":1700000000000000,"guilds":[{"id":"500","owner":false,"permissions":"0"}]}}
{"kind":"grant","user":"3","version":1,"tokens":"c2VhbGVk","list":{"fetched_at":4000000000000000,"guilds":[{"id":"500","owner":false,"permissions":"64"}]}}
{"kind":"grant","user":"4","version":1,"tokens":"c2VhbGVk","list":{"fetched_at":4000000000000000,"guilds":[]}}
{"kind":"grant","user":"5","version":1,"tokens":"c2VhbGVk","list":{"fetched_at":4000000000000000,"guilds":[{"id":"500","owner":false,"permissions":"40"}]}}
{"kind":"grant","user":"7","version":1,"tokens":"c2VhbGVk","list":null}
"#;

struct Stage(Arc<TempDir>);

impl Stage {
    fn new() -> Self {
        let folder = Arc::new(TempDir::new().unwrap());
        fs::write(folder.path().join("world.ndjson"), WORLD).unwrap();
        let imported = Program::within(&folder, &["import", "world.ndjson"]).finish();
        assert_eq!(imported.code, Some(0), "{}", imported.err);
        Self(folder)
    }

    fn run(&self, user: &str, guild: &str) -> Finished {
        Program::within(&self.0, &["why", user, guild]).finish()
    }

    /// What is said, which always has a line for each of the twenty permissions.
    fn why(&self, user: &str, guild: &str) -> String {
        let finished = self.run(user, guild);
        assert_eq!(finished.code, Some(0), "{}", finished.err);
        let (_, permissions) = finished.out.split_once("\nPermissions").unwrap();
        let verdicts = permissions.lines().skip(1).map(|line| line.split_whitespace().nth(1).unwrap());
        assert_eq!(
            verdicts.filter(|verdict| ["yes", "no"].contains(verdict)).count(),
            20,
            "{}",
            finished.out
        );
        finished.out
    }
}

#[track_caller]
fn says(text: &str, lines: &[&str]) {
    for line in lines {
        assert!(text.lines().any(|said| said == *line), "{line:?} is not in:\n{text}");
    }
}

#[test]
fn a_listed_guild_comes_with_its_role_and_the_way_to_each_permission() {
    says(
        &Stage::new().why("1", "500"),
        &[
            // What a terminal would obey is only shown.
            r#"User 1 in guild 500 "Night \u{1b}[31mOwls""#,
            "Listed: yes, as Owner",
            "Platform says:   the user owns the guild, has Administrator",
            "Bot says:        set up, linked to a game server; the user has no roles",
            "Granted by name: nothing",
            "Premium:         yes, by the subscription of user 9 (1 guild, 2 slots)",
            "Permissions:",
            "  MANAGE_SERVER        yes  the user owns the guild",
            "  MOD                  yes  through ADMIN, through MANAGE_SERVER: the user owns the guild",
            "  SETUP                yes  the bot is set up in the guild",
            "  ERLC_LINKED          yes  the guild is linked to a game server",
            "  SERVICE_PLUS_GUILD   yes  a subscription names the guild",
            "  SERVICE_PLUS_MEMBER  no",
            "  FOUNDER              no",
        ],
    );
}

#[test]
fn a_role_of_the_platform_is_named_where_it_counts() {
    says(
        &Stage::new().why("2", "500"),
        &[
            "Listed: yes, as Moderator",
            "Bot says:        set up, linked to a game server; the user has the roles 49, 51",
            "  MOD                  yes  the user has role 51, bound to MOD in the guild",
            "  ADMIN                no",
        ],
    );
}

#[test]
fn a_guild_that_is_not_listed_comes_with_everything_in_the_way() {
    let stage = Stage::new();
    let (member, not_signed_in, without_bot) = (
        "  - the platform's last list for the user does not have the guild",
        "  - the user is not signed in: they never were, or their last session has ended",
        "  - the bot does not report the guild",
    );
    for (user, guild, reasons) in [
        ("3", "500", &["  - the user is a plain member: none of the permissions below makes a role"][..]),
        ("4", "500", &[member]),
        ("4", "600", &[member, without_bot]),
        ("1", "600", &[without_bot]),
        ("6", "600", &[not_signed_in, without_bot]),
        ("6", "500", &[not_signed_in]),
        ("5", "500", &["  - the user is blocked: signing in and GET /guilds are answered with 403"]),
        (
            "7",
            "500",
            &["  - the platform has not given the user's list of guilds yet; each request asks again"],
        ),
    ] {
        let text = stage.why(user, guild);
        let told: Vec<_> = text.lines().filter(|line| line.starts_with("  - ")).collect();
        assert_eq!(told, reasons, "{text}");
        says(&text, &["Listed: no"]);
    }
}

#[test]
fn what_was_granted_by_name_or_paid_for_counts_in_every_guild() {
    says(
        &Stage::new().why("3", "600"),
        &[
            "User 3 in guild 600",
            "Platform says:   nothing about the user in the guild",
            "Bot says:        nothing about the guild",
            "Granted by name: BOT_DEVELOPER, SUPPORT",
            "Premium:         no; no subscription names the guild",
            "Permissions, by what is known; nobody is shown them while the guild is not listed:",
            "  SUPPORT              yes  granted to the user by name",
            "  MANAGEMENT           yes  through EXECUTIVE, through BOT_DEVELOPER: granted to the user by name",
            "  SERVICE_PLUS_MEMBER  yes  the user has a subscription with slots or guilds",
        ],
    );
}

#[test]
fn the_age_of_the_list_is_told_and_what_becomes_of_it() {
    let stage = Stage::new();
    for (user, end) in [
        ("1", "; the next request needs a newer one from the platform"),
        ("2", "; it stays until the user signs in again"),
        (
            "3",
            "1 guild, dated ahead, as before the clock was set back; the next request needs a newer one from the \
             platform",
        ),
        ("6", "none"),
    ] {
        let text = stage.why(user, "500");
        let line = text.lines().find(|line| line.starts_with("Last list:")).unwrap();
        assert!(line.ends_with(end), "{line}");
    }
    assert!(stage.why("1", "500").contains("Last list:       2 guilds, "));
}

#[test]
fn wrong_usage_is_told_and_ends_with_2() {
    let stage = Stage::new();
    for (user, guild, said) in [
        ("night_owl", "500", "user id must be"),
        ("0", "500", "user id must be"),
        ("1", "0500", "guild id must be"),
    ] {
        let refused = stage.run(user, guild);
        assert_eq!((refused.code, refused.out.as_str()), (Some(2), ""));
        assert!(refused.err.contains(said), "{}", refused.err);
    }
    assert_eq!(Program::within(&stage.0, &["why", "1"]).finish().code, Some(2));
    let memory = Program::within(&stage.0, &["why", "1", "500"]).env("COMPANION_STORAGE__URL", "memory:");
    assert_eq!(memory.finish().code, Some(2));
}
