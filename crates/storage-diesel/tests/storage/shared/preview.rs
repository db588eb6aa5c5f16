//! Previews of a sync.

use super::Place;
use crate::sample::{Stream, guild};
use companion_domain::{
    change::{Key, Kind},
    port::{ChangeFeed, Record, Records, Replace},
};

pub(crate) async fn a_preview_returns_the_tally_and_changes_nothing<P: Place>() {
    let place = P::new();
    let storage = place.open().await;
    let records = |numbers: std::ops::RangeInclusive<u64>| {
        Stream::of(numbers.map(|number| Record::Guild(guild(number))))
    };
    let replace = Replace { kinds: [Kind::Guild].into(), shard: None };
    assert_eq!(storage.sync(&replace, &mut records(1..=1200)).await.unwrap().tally.added, 1200);
    let before = storage.latest().await.unwrap();
    let previewed = storage.preview(&replace, &mut records(601..=1800)).await.unwrap();
    assert_eq!((previewed.added, previewed.changed, previewed.removed), (600, 0, 600));
    assert_eq!(storage.latest().await.unwrap(), before, "a preview records no change");
    assert!(Records::find(&storage, &Key::Guild(guild(1).id)).await.unwrap().is_some());
    assert!(Records::find(&storage, &Key::Guild(guild(1800).id)).await.unwrap().is_none());
    // The sync changes exactly what the preview returned.
    assert_eq!(storage.sync(&replace, &mut records(601..=1800)).await.unwrap().tally, previewed);
}
