//! Measures picking five entries, independent of their number.

use crate::place::{Database, Place};
use crate::sample::{Made, feedback};
use companion_domain::port::{FeedbackStore, Record, Records, Replace};
use companion_testkit::entropy::SeededEntropy;
use std::time::{Duration, Instant};

const PICKS: usize = 3000;

pub(crate) async fn run(database: Database, full: bool) {
    println!("\nPicking five positive entries of feedback\n");
    println!("| entries | median | 99 of 100 within | filled in |");
    println!("|---:|---:|---:|---:|");
    for entries in [1000, if full { 1_000_000 } else { 100_000 }] {
        let place = Place::new(database);
        let storage = place.open().await;
        let begun = Instant::now();
        let mut source = Made::new((0..entries).map(|number| Record::Feedback(feedback(number))));
        storage.sync(&Replace::default(), &mut source).await.unwrap();
        let filled = begun.elapsed();
        let chance = SeededEntropy::new(1);
        let mut times = Vec::with_capacity(PICKS);
        for _ in 0..PICKS {
            let begun = Instant::now();
            assert_eq!(storage.pick_positive(5, chance.seed()).await.unwrap().len(), 5);
            times.push(begun.elapsed());
        }
        times.sort_unstable();
        let at = |share: usize| times.get(PICKS * share / 100).copied().unwrap_or(Duration::MAX);
        println!("| {entries} | {:?} | {:?} | {filled:.1?} |", at(50), at(99));
    }
}
