//! Rendered guild listings of recent users.

use actix_web::web::Bytes;
use companion_domain::{model::UserId, port::Listing};
use foldhash::fast::RandomState;
use quick_cache::{
    Weighter,
    sync::{Cache, DefaultLifecycle},
};
use std::sync::Arc;

/// Bytes of an entry besides its body.
const ENTRY_OVERHEAD: u64 = 128;
/// Typical size of a rendered listing.
const TYPICAL_SIZE: u64 = 4096;

/// Rendered listings by user, bounded in bytes. An entry is valid only for the very instance of the listing it was
/// rendered from.
pub(crate) struct RenderedListings(Cache<UserId, Rendered, ByLength, RandomState>);

#[derive(Clone)]
struct Rendered {
    listing: Arc<Listing>,
    body: Bytes,
}

impl RenderedListings {
    /// Creates a cache bounded to this many bytes.
    pub(crate) fn new(memory: u64) -> Self {
        let expected = usize::try_from(memory / TYPICAL_SIZE).unwrap_or(usize::MAX);
        let hasher = RandomState::default();
        Self(Cache::with(expected.max(64), memory, ByLength, hasher, DefaultLifecycle::default()))
    }

    /// Returns the body of this listing, from the cache or rendered by `render`.
    pub(crate) fn get_or_render<E>(
        &self,
        user: UserId,
        listing: &Arc<Listing>,
        render: impl FnOnce() -> Result<Bytes, E>,
    ) -> Result<Bytes, E> {
        if let Some(rendered) = self.0.get(&user).filter(|rendered| Arc::ptr_eq(&rendered.listing, listing)) {
            return Ok(rendered.body);
        }
        // Drops spare capacity, which would otherwise stay allocated with the entry.
        let body = Bytes::from(Vec::from(render()?).into_boxed_slice());
        self.0.insert(user, Rendered { listing: Arc::clone(listing), body: body.clone() });
        Ok(body)
    }
}

#[derive(Clone)]
struct ByLength;

impl Weighter<UserId, Rendered> for ByLength {
    fn weight(&self, _: &UserId, rendered: &Rendered) -> u64 {
        rendered.body.len() as u64 + ENTRY_OVERHEAD
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    fn render(rendered: &RenderedListings, listing: &Arc<Listing>, text: &'static str) -> Bytes {
        let user = UserId::new(1).unwrap();
        let body = || Ok::<_, Infallible>(Bytes::from_static(text.as_bytes()));
        rendered.get_or_render(user, listing, body).unwrap()
    }

    #[test]
    fn renders_once_per_listing_instance() {
        let rendered = RenderedListings::new(1 << 20);
        let (one, other) = (Arc::new(Listing::default()), Arc::new(Listing::default()));
        assert_eq!(render(&rendered, &one, "first"), "first");
        assert_eq!(render(&rendered, &one, "second"), "first");
        assert_eq!(render(&rendered, &other, "third"), "third");
        assert_eq!(render(&rendered, &one, "fourth"), "fourth");
    }

    #[test]
    fn stays_within_its_memory_bound() {
        let rendered = RenderedListings::new(10_000);
        for number in 1..1000 {
            let body = || Ok::<_, Infallible>(Bytes::from(vec![b'x'; 500]));
            let listing = Arc::new(Listing::default());
            rendered.get_or_render(UserId::new(number).unwrap(), &listing, body).unwrap();
            assert!(rendered.0.weight() <= 10_000);
        }
        assert!(rendered.0.len() > 5);
    }
}
