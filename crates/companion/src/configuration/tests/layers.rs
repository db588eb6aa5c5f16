//! Which layer wins.

use super::Given;
use crate::configuration::{ConfigurationFile, Source};

#[test]
fn the_file_wins_over_the_defaults_and_the_environment_over_the_file() {
    let given =
        Given::file("[sessions]\nlifetime = '10d'\nidle = '5d'").with("COMPANION_SESSIONS__IDLE", "2d");
    let sessions = given.configuration().sessions;
    assert_eq!(sessions.lifetime.to_string(), "10d");
    assert_eq!(sessions.idle.to_string(), "2d");
    assert_eq!(sessions.per_user.get(), 10);
    assert!(matches!(given.effective("sessions.lifetime").0, Source::Line(_, 2)));
    assert_eq!(given.effective("sessions.idle").0, Source::Variable("COMPANION_SESSIONS__IDLE".into()));
}

#[test]
fn the_usual_file_may_be_absent() {
    let mut given = Given::nothing();
    let path = given.folder.path().join("companion.toml");
    given.layers.file = ConfigurationFile::IfPresent(path);
    assert_eq!(given.configuration().http.listen.port, 8080);
    given.write("companion.toml", "http.listen = 'localhost:1'");
    assert_eq!(given.configuration().http.listen.port, 1);
}

#[test]
fn a_named_file_must_exist() {
    let mut given = Given::nothing();
    let path = given.folder.path().join("other.toml");
    given.layers.file = ConfigurationFile::Named(path.clone());
    let mistake = given.mistake();
    assert_eq!(mistake.source, Source::File(path));
    assert!(mistake.problem.starts_with("cannot be read"), "{mistake}");
}

#[test]
fn a_value_that_is_overridden_is_still_checked() {
    let given = Given::file("[sessions]\nidle = 'soon'").with("COMPANION_SESSIONS__IDLE", "2d");
    assert!(matches!(given.mistake().source, Source::Line(_, 2)));
}
