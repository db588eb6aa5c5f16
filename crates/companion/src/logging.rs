//! The log: one line an event, on standard error.

use crate::configuration::{Log, LogFormat, LogLevel};
use std::io::{self, IsTerminal as _};
use tracing_subscriber::{
    Layer as _,
    filter::{LevelFilter, Targets},
    fmt,
    layer::SubscriberExt as _,
    util::SubscriberInitExt as _,
};

/// Begins to log. A process that logs already goes on as it does.
pub fn start(log: &Log) {
    let level = match log.level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    // What libraries tell in detail may hold what a client sent, tokens included, so only their warnings are heard. The
    // server's own warn of every malformed request, which would let anyone fill the log.
    let filter = Targets::new()
        .with_default(level.min(LevelFilter::WARN))
        .with_target("companion", level)
        .with_target("actix_http", LevelFilter::OFF);
    let on_terminal = io::stderr().is_terminal();
    let format = log.format.unwrap_or(if on_terminal { LogFormat::Human } else { LogFormat::Json });
    let layer = match format {
        LogFormat::Human => {
            fmt::layer().with_ansi(on_terminal).with_target(false).with_writer(io::stderr).boxed()
        }
        LogFormat::Json => fmt::layer().json().flatten_event(true).with_writer(io::stderr).boxed(),
    };
    let _ = tracing_subscriber::registry().with(layer.with_filter(filter)).try_init();
}
