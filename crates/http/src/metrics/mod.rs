//! Metrics in the Prometheus text format.
//!
//! Counting is a few atomic additions. The set of series is fixed when a listener is created: no request can add a
//! label. Other sources of metrics implement [`MetricsSource`].

mod requests;

pub(crate) use self::requests::{RequestMetrics, SignInMetrics};

use std::{
    collections::BTreeMap,
    fmt::{Display, Write as _},
    sync::Arc,
};

/// A source of metrics.
pub trait MetricsSource: Send + Sync {
    /// Writes the current values.
    fn write(&self, text: &mut MetricsText);
}

/// Writes several sources.
impl MetricsSource for Vec<Arc<dyn MetricsSource>> {
    fn write(&self, text: &mut MetricsText) {
        self.iter().for_each(|source| source.write(text));
    }
}

/// Labels of a sample: names and values.
pub type Labels<'a> = &'a [(&'static str, &'a str)];

/// A page of metrics in text format 0.0.4, written by any number of sources. Samples of one name are grouped.
#[derive(Debug, Default)]
pub struct MetricsText(BTreeMap<&'static str, Family>);

#[derive(Debug)]
struct Family {
    kind: &'static str,
    help: &'static str,
    samples: String,
}

impl MetricsText {
    /// Adds a sample of a counter, a finite number. Its name must end in `_total`.
    pub fn counter(
        &mut self,
        name: &'static str,
        help: &'static str,
        labels: Labels<'_>,
        value: impl Display,
    ) {
        self.sample("counter", name, help, "", labels, &value.to_string());
    }

    /// Adds a sample of a gauge.
    pub fn gauge(&mut self, name: &'static str, help: &'static str, labels: Labels<'_>, value: f64) {
        self.sample("gauge", name, help, "", labels, &number(value));
    }

    /// Renders all samples in the Prometheus text format.
    #[must_use]
    pub fn render(&self) -> String {
        let mut page = String::new();
        for (name, Family { kind, help, samples }) in &self.0 {
            let help = help.replace('\\', "\\\\").replace('\n', "\\n");
            let _ = write!(page, "# HELP {name} {help}\n# TYPE {name} {kind}\n{samples}");
        }
        page
    }

    fn sample(
        &mut self,
        kind: &'static str,
        name: &'static str,
        help: &'static str,
        suffix: &str,
        labels: Labels<'_>,
        value: &str,
    ) {
        let new = || Family { kind, help, samples: String::new() };
        let samples = &mut self.0.entry(name).or_insert_with(new).samples;
        samples.push_str(name);
        samples.push_str(suffix);
        for (index, (label, value)) in labels.iter().enumerate() {
            let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = write!(samples, "{}{label}=\"{value}\"", if index == 0 { '{' } else { ',' });
        }
        let close = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(samples, "{close} {value}");
    }
}

/// Formats a number for Prometheus.
fn number(value: f64) -> String {
    if value.is_infinite() {
        if value > 0.0 { "+Inf".to_owned() } else { "-Inf".to_owned() }
    } else {
        value.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_samples_by_name_and_escapes_labels() {
        let mut text = MetricsText::default();
        text.counter("b_total", "Counts.", &[("who", "a\"b\\c\nd"), ("x", "")], 1);
        text.gauge("a", "Line one\nand \\ two.", &[], 0.5);
        text.counter("b_total", "Counts.", &[], u64::MAX);
        text.counter("b_total", "Counts.", &[], 0.25);
        text.gauge("a", "", &[], f64::NEG_INFINITY);
        assert_eq!(
            text.render(),
            "# HELP a Line one\\nand \\\\ two.\n# TYPE a gauge\na 0.5\na -Inf\n\
             # HELP b_total Counts.\n# TYPE b_total counter\n\
             b_total{who=\"a\\\"b\\\\c\\nd\",x=\"\"} 1\nb_total 18446744073709551615\nb_total 0.25\n"
        );
    }
}
