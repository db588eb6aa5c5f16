//! Measures durable sign-ins per second: batched, against one transaction each.

use crate::place::{Database, Place};
use crate::sample::sign_in;
use companion_testkit::entropy::SeededEntropy;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// Duration of one round. Rounds of both variants alternate, so that fluctuations of the disk affect both alike. The
/// median counts.
const LASTING: Duration = Duration::from_millis(600);
const ROUNDS: usize = 7;

pub(crate) async fn run(database: Database) {
    println!("\nDurable sign-ins a second\n");
    println!("| clients | one transaction each | gathered | gain | writes a commit |");
    println!("|---:|---:|---:|---:|---:|");
    for clients in [1, 8, 64] {
        let (mut alone, mut gathered, mut shares) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            alone.push(measure(database, clients, 1).await.0);
            let (rate, share) = measure(database, clients, 256).await;
            gathered.push(rate);
            shares.push(share);
        }
        let (alone, gathered, share) = (median(alone), median(gathered), median(shares));
        let gain = gathered / alone;
        println!("| {clients} | {alone:.0} | {gathered:.0} | {gain:.2} | {share:.1} |");
    }
}

fn median(mut rounds: Vec<f64>) -> f64 {
    rounds.sort_by(f64::total_cmp);
    rounds.get(ROUNDS / 2).copied().unwrap_or(f64::NAN)
}

/// Returns sign-ins per second, and how many shared a commit.
async fn measure(database: Database, clients: u64, max_batch: usize) -> (f64, f64) {
    let place = Place::new(database);
    let storage = place.open_with_batch(max_batch).await;
    let chance = Arc::new(SeededEntropy::new(1));
    let begun = Instant::now();
    let tasks: Vec<_> = (0..clients)
        .map(|client| {
            let (storage, chance) = (storage.clone(), Arc::clone(&chance));
            tokio::spawn(async move {
                let mut done = 0_u32;
                while begun.elapsed() < LASTING {
                    sign_in(&storage, &chance, client * 1_000_000 + u64::from(done)).await.unwrap();
                    done += 1;
                }
                done
            })
        })
        .collect();
    let mut done = 0;
    for task in tasks {
        done += task.await.unwrap();
    }
    let taken = begun.elapsed().as_secs_f64();
    let statistics = storage.statistics();
    #[expect(clippy::cast_precision_loss, reason = "a few digits are enough")]
    let share = statistics.writes as f64 / statistics.commits as f64;
    (f64::from(done) / taken, share)
}
