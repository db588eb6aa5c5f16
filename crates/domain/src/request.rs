//! The context of the request on whose behalf work is done.
//!
//! Ports do not mention requests, and most adapters need not know of them. But a call to the platform should carry
//! the request's id, and the log of a slow request should show where its time went. So the context travels with the
//! work: polling the request's future makes its context current on the thread, and adapters read the current one.

use std::{
    cell::RefCell,
    future::poll_fn,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

thread_local! {
    static CURRENT: RefCell<Option<Arc<RequestContext>>> = const { RefCell::new(None) };
}

/// What a request spends its time on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Waiting for the store.
    Storage,
    /// Waiting for the identity provider.
    Provider,
    /// Rendering the answer.
    Rendering,
}

/// A request: its id, and the time spent so far.
#[derive(Debug)]
pub struct RequestContext {
    id: Box<str>,
    /// In microseconds, by [`Part`].
    spent: [AtomicU64; 3],
}

impl RequestContext {
    /// Creates the context of a request with this id.
    #[must_use]
    pub fn new(id: &str) -> Arc<Self> {
        Arc::new(Self { id: id.into(), spent: Default::default() })
    }

    /// Returns the request that this thread is working for.
    #[must_use]
    pub fn current() -> Option<Arc<Self>> {
        CURRENT.with_borrow(Clone::clone)
    }

    /// Runs `work` with this context as the current one.
    pub fn within<T>(self: &Arc<Self>, work: impl FnOnce() -> T) -> T {
        let _entered = Entered(CURRENT.replace(Some(Arc::clone(self))));
        work()
    }

    /// Returns the request's id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the time spent on a part. Concurrent waits count each.
    #[must_use]
    pub fn spent(&self, part: Part) -> Duration {
        Duration::from_micros(self.of(part).load(Relaxed))
    }

    fn of(&self, part: Part) -> &AtomicU64 {
        let [storage, provider, rendering] = &self.spent;
        match part {
            Part::Storage => storage,
            Part::Provider => provider,
            Part::Rendering => rendering,
        }
    }
}

/// Restores the previous context, also after a panic.
struct Entered(Option<Arc<RequestContext>>);

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// Adds to the time of the current request, if there is one.
pub fn note(part: Part, took: Duration) {
    CURRENT.with_borrow(|current| {
        if let Some(context) = current {
            context.of(part).fetch_add(u64::try_from(took.as_micros()).unwrap_or(u64::MAX), Relaxed);
        }
    });
}

/// Carries the current context along with work that is polled elsewhere.
pub fn carried<T>(work: impl Future<Output = T>) -> impl Future<Output = T> {
    let context = RequestContext::current();
    async move {
        let mut work = pin!(work);
        poll_fn(|task| match &context {
            Some(context) => context.within(|| work.as_mut().poll(task)),
            None => work.as_mut().poll(task),
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::{FutureExt as _, future::pending};
    use std::panic::catch_unwind;

    fn current() -> Option<String> {
        RequestContext::current().map(|context| context.id().to_owned())
    }

    #[test]
    fn restores_the_previous_context_also_after_a_panic() {
        let (one, other) = (RequestContext::new("one"), RequestContext::new("other"));
        assert_eq!(current(), None);
        one.within(|| {
            other.within(|| assert_eq!(current().as_deref(), Some("other")));
            assert_eq!(current().as_deref(), Some("one"));
        });
        let panicked = catch_unwind(|| one.within(|| panic!("on purpose")));
        assert!(panicked.is_err() && current().is_none());
    }

    #[test]
    fn adds_time_to_the_current_request_by_part() {
        let context = RequestContext::new("one");
        let second = Duration::from_secs(1);
        note(Part::Storage, second);
        context.within(|| {
            note(Part::Storage, second);
            note(Part::Storage, second);
            note(Part::Provider, second);
        });
        assert_eq!(context.spent(Part::Storage), 2 * second);
        assert_eq!(context.spent(Part::Provider), second);
        assert_eq!(context.spent(Part::Rendering), Duration::ZERO);
    }

    #[test]
    fn carried_work_keeps_the_context_of_its_origin() {
        let context = RequestContext::new("one");
        let work = context.within(|| carried(async { current() }));
        assert_eq!(work.now_or_never().flatten().as_deref(), Some("one"));
        let unfinished = context.within(|| carried(pending::<()>()));
        assert_eq!(unfinished.now_or_never(), None);
        assert_eq!(current(), None, "the context is not left behind");
        assert_eq!(carried(async { current() }).now_or_never(), Some(None));
    }
}
