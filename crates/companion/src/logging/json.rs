//! Events as JSON, one per line. The shape is that of `tracing_subscriber`'s JSON with flattened fields, which takes
//! three times the instructions. Every change of the bot writes a line.

use std::fmt::{self, Write as _};
use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{
    fmt::{
        FmtContext, FormatEvent, FormatFields,
        format::Writer,
        time::{FormatTime as _, SystemTime},
    },
    registry::LookupSpan,
};

/// Formats an event as a line of JSON. Spans are ignored: the program has none.
pub(super) struct JsonLines;

impl<S, N> FormatEvent<S, N> for JsonLines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let metadata = event.metadata();
        let mut line = Line(String::with_capacity(USUAL_LENGTH));
        line.0.push_str("{\"timestamp\":\"");
        SystemTime.format_time(&mut Writer::new(&mut line.0))?;
        line.0.push_str("\",\"level\":\"");
        line.0.push_str(metadata.level().as_str());
        line.0.push('"');
        event.record(&mut line);
        line.text("target", metadata.target());
        line.0.push_str("}\n");
        // At once: the writer is dynamic, and a line has some fifty parts.
        writer.write_str(&line.0)
    }
}

/// Length of most lines, in bytes.
const USUAL_LENGTH: usize = 512;

/// A line of JSON. Writing to it cannot fail.
struct Line(String);

impl Line {
    /// Writes the name of an entry. Names of fields are identifiers, which need no escape.
    fn name(&mut self, name: &str) {
        self.0.push_str(",\"");
        self.0.push_str(name);
        self.0.push_str("\":");
    }

    /// Writes an entry whose value is text.
    fn text(&mut self, name: &str, value: &str) {
        self.name(name);
        self.0.push('"');
        self.escape(value);
        self.0.push('"');
    }

    /// Writes an entry whose value is JSON as it is printed.
    fn plain(&mut self, field: &Field, value: impl fmt::Display) {
        self.name(field.name());
        let _ = write!(self.0, "{value}");
    }

    fn escape(&mut self, text: &str) {
        let needs_escape = |byte: u8| matches!(byte, b'"' | b'\\' | 0..=0x1f);
        let mut rest = text;
        while let Some((before, after)) =
            rest.bytes().position(needs_escape).and_then(|place| rest.split_at_checked(place))
        {
            self.0.push_str(before);
            let mut letters = after.chars();
            match letters.next() {
                Some('"') => self.0.push_str("\\\""),
                Some('\\') => self.0.push_str("\\\\"),
                Some('\n') => self.0.push_str("\\n"),
                Some(control) => drop(write!(self.0, "\\u{:04x}", u32::from(control))),
                None => {}
            }
            rest = letters.as_str();
        }
        self.0.push_str(rest);
    }
}

impl Visit for Line {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.text(field.name(), value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.name(field.name());
        self.0.push('"');
        let _ = write!(Escaped(self), "{value:?}");
        self.0.push('"');
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.plain(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.plain(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.plain(field, value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        // JSON has no other numbers.
        if value.is_finite() {
            self.plain(field, format_args!("{value:?}"));
        } else {
            self.plain(field, "null");
        }
    }
}

/// The inside of a text, escaped as it is written.
struct Escaped<'a>(&'a mut Line);

impl fmt::Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.escape(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use companion_testkit::api::captured_log::Lines;
    use serde_json::Value;
    use tracing_subscriber::{Layer as _, fmt, layer::SubscriberExt as _};

    #[test]
    fn writes_what_the_layer_of_the_library_writes() {
        let (ours, theirs) = (Lines::default(), Lines::default());
        let subscriber = tracing_subscriber::registry()
            .with(fmt::layer().event_format(JsonLines).with_writer(ours.clone()).boxed())
            .with(fmt::layer().json().flatten_event(true).with_writer(theirs.clone()));
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!(target: "companion::audit", action = "put_guild", added = 1_u64, "audit");
            tracing::warn!(text = "a\"b\\c\nd\te\u{1}\u{1f}ä😀", empty = "", "with \"{}\"", "quotes\r\n");
            tracing::error!(
                negative = -7,
                half = 0.5,
                whole = 2.0,
                huge = 1e300,
                none = f64::NAN,
                is_true = true,
                absent = None::<u64>,
                shown = %"a \"b\"",
                debugged = ?Some("c"),
                error = &std::io::Error::other("d\"e") as &dyn std::error::Error,
                wide = 1_u128 << 100,
            );
        });
        let events = |lines: &Lines| -> Vec<Value> {
            let parsed = lines.take().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            let without_time = |mut event: Value| {
                let time = event.as_object_mut().unwrap().remove("timestamp").unwrap();
                assert!(time.as_str().unwrap().ends_with('Z'), "{time}");
                event
            };
            Vec::into_iter(parsed).map(without_time).collect()
        };
        let ours = events(&ours);
        assert_eq!(ours.len(), 3);
        assert_eq!(ours, events(&theirs));
    }
}
