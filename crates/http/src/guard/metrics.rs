//! Who is connected, and who was not allowed to be.

use super::admission::Admission;
use crate::metrics::{MetricsSource, MetricsText};
use std::sync::atomic::Ordering::Relaxed;

/// What happens at the door of a listener.
pub(crate) struct ConnectionMetrics {
    pub(crate) listener: &'static str,
    pub(crate) admission: Admission,
}

impl MetricsSource for ConnectionMetrics {
    #[expect(clippy::cast_precision_loss, reason = "far fewer connections than floating point holds exactly")]
    fn write(&self, text: &mut MetricsText) {
        let listener = ("listener", self.listener);
        let open = self.admission.open() as f64;
        text.gauge("companion_connections", "Connections that are open.", &[listener], open);
        let counts = self.admission.counts();
        for (reason, count) in [("refused", &counts.refused), ("cut_off", &counts.cut_off)] {
            text.counter(
                "companion_connections_ended_total",
                "Connections that were turned away, or ended because the client made us wait.",
                &[listener, ("reason", reason)],
                count.load(Relaxed),
            );
        }
    }
}
