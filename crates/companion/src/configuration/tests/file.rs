//! The configuration file.

use super::Given;
use crate::configuration::Source;

#[test]
fn tables_can_be_written_in_every_way_of_toml() {
    for text in ["[http]\nlisten = 'h:1'", "http.listen = 'h:1'", "http = { listen = 'h:1' }"] {
        assert_eq!(Given::file(text).configuration().http.listen.to_string(), "h:1", "{text}");
    }
}

#[test]
fn a_table_of_redirects_has_a_section_of_its_own() {
    let text = "[identity.redirect_uri]\ndefault = 'https://a.example/b'\n'https://c.example' = 'https://c.example/b'";
    let redirects = Given::file(text).configuration().identity.redirect_uri.unwrap();
    assert_eq!(redirects.default.as_str(), "https://a.example/b");
    assert_eq!(redirects.by_origin.len(), 1);
}

#[test]
fn an_unknown_key_is_named_with_its_line_and_the_nearest_known_one() {
    let mistake = Given::file("# mine\n[http]\nlisten = 'h:1'\nlistn = 'h:2'").mistake();
    assert_eq!(mistake.key, "http.listn");
    assert!(matches!(mistake.source, Source::Line(_, 4)), "{mistake}");
    assert_eq!(mistake.fix, "did you mean http.listen?");
}

#[test]
fn an_unknown_table_is_named_once_with_the_nearest_known_one() {
    let mistake = Given::file("[limit]\nbody = 1\nconnections = 2").mistake();
    assert_eq!((mistake.key.as_str(), mistake.fix.as_str()), ("limit", "did you mean [limits]?"));
}

#[test]
fn a_key_outside_of_its_table_is_told_where_it_belongs() {
    let mistake = Given::file("client_secret = 'hunter2'").mistake();
    assert_eq!(mistake.fix, "did you mean identity.client_secret?");
    let mistake = Given::file("'http.listen' = 'h:1'").mistake();
    assert_eq!(mistake.key, "\"http.listen\"");
}

#[test]
fn a_table_that_is_none_is_a_mistake() {
    let mistake = Given::file("http = 8080").mistake();
    assert_eq!((mistake.key.as_str(), mistake.problem.as_str()), ("http", "must be a table"));
}

#[test]
fn every_slip_of_syntax_has_its_line() {
    let mistakes = Given::file("[http]\nlisten = \n[log\nlevel = 'info'").mistakes();
    assert!(mistakes.iter().any(|mistake| matches!(mistake.source, Source::Line(_, 2))), "{mistakes:?}");
    assert!(mistakes.iter().any(|mistake| matches!(mistake.source, Source::Line(_, 3))), "{mistakes:?}");
}
