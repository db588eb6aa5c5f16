//! `companion health`.

use crate::program::Program;

#[test]
fn a_running_service_is_ready() {
    let mut service = Program::serving(&["serve"]).start();
    let management = service.management();
    let finished = Program::new(&["health"]).env("COMPANION_MANAGEMENT__LISTEN", &management).finish();
    assert_eq!((finished.code, finished.out.as_str()), (Some(0), "ready\n"), "{}", finished.err);
}

#[test]
fn no_service_is_not_ready() {
    // A port that was free a moment ago, and that nobody listens on.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let finished = Program::new(&["health"]).env("COMPANION_MANAGEMENT__LISTEN", &free).finish();
    assert_eq!(finished.code, Some(1));
    assert!(finished.err.contains(&free), "{}", finished.err);
}

#[test]
fn port_0_can_not_be_asked() {
    let finished = Program::serving(&["health"]).finish();
    assert_eq!(finished.code, Some(1));
    assert!(finished.err.contains("management.listen"), "{}", finished.err);
}
