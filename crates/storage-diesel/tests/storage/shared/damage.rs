//! Statements that damage a row for the conformance suites.

use super::Place;
use companion_domain::change::Key;
use companion_testkit::conformance::Damage;

/// Returns a statement after which the row cannot be converted to a domain value. Such picture addresses were once
/// valid.
pub(crate) fn statement<P: Place>(damage: &Damage) -> String {
    const PICTURE: &str = "'https://user@cdn.example/old.png'";
    P::in_dialect(&match damage {
        Damage::GuildList(user) => format!("UPDATE grants SET list = X'02' WHERE user_id = {user}"),
        Damage::Report(id) => format!("UPDATE clusters SET report = '{{}}' WHERE id = '{id}'"),
        Damage::Record(key) => match key {
            Key::Guild(guild) => format!("UPDATE guilds SET bindings = 'canary' WHERE id = {guild}"),
            Key::Member(guild, user) => {
                format!("UPDATE members SET roles = 'canary' WHERE guild = {guild} AND user_id = {user}")
            }
            Key::Subscription(user) => {
                format!("UPDATE subscriptions SET guilds = 'canary' WHERE user_id = {user}")
            }
            Key::Staff(user) => format!("UPDATE staff SET grants = 'EMPEROR' WHERE user_id = {user}"),
            Key::Blocked(user) => format!("UPDATE blocked SET user_id = 0 WHERE user_id = {user}"),
            Key::Feedback(id) => {
                format!("UPDATE feedback SET submitter_avatar = {PICTURE} WHERE id = '{id}'")
            }
            Key::Team(user, _) => format!("UPDATE team SET avatar = {PICTURE} WHERE user_id = {user}"),
            Key::Outline(guild) => format!("UPDATE outlines SET roles = 'canary' WHERE guild = {guild}"),
            Key::Schema(()) => "UPDATE settings_schema SET content = 'canary'".to_owned(),
            Key::Settings(guild) => format!("UPDATE settings SET content = 'canary' WHERE guild = {guild}"),
            Key::SettingsEdit(guild, revision) => format!(
                "UPDATE settings_edits SET content = 'canary' WHERE guild = {guild} AND revision = {revision}"
            ),
            Key::Notice(id) => format!("UPDATE notices SET kind = 'canary' WHERE id = '{id}'"),
            Key::Period(subject, began_at) => {
                let began_at = began_at.micros();
                format!(
                    "UPDATE periods SET subject = 'canary' WHERE subject = '{subject}' AND began_at = {began_at}"
                )
            }
            Key::Session(id) => {
                let id: String = id.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
                format!("UPDATE sessions SET user_id = 0 WHERE id = X'{id}'")
            }
            Key::Grant(user) => {
                format!("UPDATE grants SET tokens = NULL, list = X'02' WHERE user_id = {user}")
            }
        },
    })
}
