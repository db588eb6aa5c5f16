//! `companion demo`.

use super::{
    VERSION,
    foreground::{Signals, until_signal},
    output::print,
};
use crate::{
    configuration::{Configuration, LogFormat},
    demo::{Demo, DemoPorts, PEOPLE, Pace, sign_in_command},
    error::{ProgramError, failed},
    logging,
    service::Notice,
};
use std::fmt::Write as _;
use tokio::runtime::Runtime;
use tracing_subscriber::filter::LevelFilter;

/// The highest base port that leaves room for all listeners.
pub(super) const LAST_PORT: u16 = DemoPorts::LAST;

pub(super) fn run(given: &Configuration, port: Option<u16>) -> Result<(), ProgramError> {
    let ports = port.map_or_else(|| DemoPorts::configured(given), DemoPorts::from);
    let mut given = given.clone();
    given.log.format.get_or_insert(LogFormat::Human);
    // The simulated bot logs a line per change, which would scroll the addresses off the screen.
    if given.log.level == LevelFilter::INFO {
        given.log.level = LevelFilter::WARN;
    }
    logging::start(&given.log);
    let runtime = Runtime::new().map_err(failed)?;
    let (signals, demo) = runtime.block_on(async {
        // Listen before the folder is created, so that an early signal leaves no files behind.
        let signals = Signals::listen().map_err(failed)?;
        Ok::<_, ProgramError>((signals, Demo::start(&given, ports, Pace::default()).await?))
    })?;
    print(&welcome(&demo))?;
    let Demo { service, storage, folder, platform, .. } = demo;
    // A demo runs behind no load balancer.
    let notice = Some(Notice::Skipped);
    let ended = until_signal(runtime, service, signals, &storage, notice);
    drop((platform, storage));
    let removed = folder.close();
    ended?;
    removed.map_err(|error| failed(format_args!("cannot remove the temporary folder: {error}")))?;
    print("Stopped.\n")
}

fn welcome(demo: &Demo) -> String {
    let (public, management) = (demo.service.public_address(), demo.service.management_address());
    let dashboard = demo.service.dashboard_address().map(|address| address.to_string()).unwrap_or_default();
    let page = demo.platform.sign_in_page();
    let person = PEOPLE.first().map(|person| person.account().username).unwrap_or_default();
    let mut text = format!(
        "Companion {VERSION}, with a sample world\n\
         Dashboard:      http://{dashboard}\n\
         Public API:     http://{public}\n\
         Management API: http://{management} (key for this run: {})\n\
         Sign-in page:   {page}\n\
         Database:       {} (removed at the end)\n\
         \n\
         Try, as often as you like: the status; a sign-in, by a fresh code of the sign-in page; and what it opens.\n\
         \x20 curl -sw '\\n' http://{public}/\n\
         \x20 TOKEN=$(curl -s -X POST -H \"Idp-Code: $(curl -s -o /dev/null -w '%{{redirect_url}}' \
         '{page}&login_hint={person}' | sed 's/.*code=//')\" http://{public}/auth | \
         sed 's/.*\"token\":\"\\([^\"]*\\)\".*/\\1/'); echo \"$TOKEN\"\n\
         \x20 curl -sw '\\n' -H \"Token: $TOKEN\" http://{public}/guilds\n\
         \n\
         These codes sign in too: {}\n\
         Each works once within a day; a second time it is refused with 401.\n",
        demo.key.expose(),
        demo.folder.path().join("companion.db").display(),
        sign_in_command(public, "CODE"),
    );
    for person in PEOPLE.iter() {
        let _ = writeln!(text, "  {}  {} {}", demo.platform.code_for(person), person.name, person.about);
    }
    text + "\nStop with Ctrl-C.\n"
}
