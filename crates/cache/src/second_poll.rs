//! Delays work until a future is polled a second time.

use std::{future::poll_fn, task::Poll};

/// Completes on the second poll, for which it wakes itself at once. A caller that only checks for a cached answer
/// polls once. If its request is then shed because too many wait, the store was not read for it.
pub(crate) async fn second_poll() {
    let mut polled = false;
    poll_fn(|context| {
        if polled {
            return Poll::Ready(());
        }
        polled = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
