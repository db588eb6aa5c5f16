//! The log: one line per event, on standard error.

mod json;

use self::json::JsonLines;
use crate::configuration::{Log, LogFormat};
use std::io::{self, IsTerminal as _};
use tracing_subscriber::{
    Layer as _,
    filter::{LevelFilter, Targets},
    fmt,
    layer::SubscriberExt as _,
    util::SubscriberInitExt as _,
};

/// Installs the global subscriber, unless the process already has one. Returns the format: if none is configured, human
/// on a terminal, otherwise JSON.
pub fn start(log: &Log) -> LogFormat {
    // Detailed events of libraries may contain client input, tokens included, so only their warnings are logged.
    // actix_http warns of every malformed request, which would let any client fill the log.
    let filter = Targets::new()
        .with_default(log.level.min(LevelFilter::WARN))
        .with_target("companion", log.level)
        .with_target("actix_http", LevelFilter::OFF);
    let on_terminal = io::stderr().is_terminal();
    let format = log.format.unwrap_or(if on_terminal { LogFormat::Human } else { LogFormat::Json });
    let layer = match format {
        LogFormat::Human => {
            fmt::layer().with_ansi(on_terminal).with_target(false).with_writer(io::stderr).boxed()
        }
        LogFormat::Json => fmt::layer().event_format(JsonLines).with_writer(io::stderr).boxed(),
    };
    let _ = tracing_subscriber::registry().with(layer.with_filter(filter)).try_init();
    format
}
