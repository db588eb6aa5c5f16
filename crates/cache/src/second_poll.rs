//! Work that begins only when someone really waits for it.

use std::{future::poll_fn, task::Poll};

/// Ready when it is polled again, which is at once. Whoever looks whether an answer is in memory polls once; if they are turned
/// away then, because too many wait already, nothing was asked of the store for them.
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

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;

    #[test]
    fn it_is_ready_the_second_time() {
        let mut waiting = Box::pin(second_poll());
        assert!((&mut waiting).now_or_never().is_none());
        assert!((&mut waiting).now_or_never().is_some());
    }
}
