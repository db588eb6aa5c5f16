//! Wrong adapters of the plain ports: health, vault, entropy and scheduler.

use crate::conformance::proof::{faults, handles, locked};
use async_trait::async_trait;
use companion_domain::{
    model::UserId,
    port::{Entropy, Health, Opened, Scheduler, Sealed, StoreError, Vault, VaultError, Work},
};
use companion_testkit::{
    conformance::Fresh, entropy::SeededEntropy, scheduler::TestScheduler, vault::TestVault,
};
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use zeroize::Zeroizing;

faults! {
    fn proofs, enum Fault {}
    health(|fault| Fresh::new(wrong(fault))) {
        a_working_store_is_healthy_at_every_check: HealthyOnce "only the first check succeeds";
    }
    vault(|fault| Fresh::new(wrong(fault))) {
        a_secret_opens_only_for_its_user: VaultIgnoresUser "the vault ignores the user";
        sealing_twice_yields_different_bytes: NonceOfOneByte "the nonce repeats";
        sealed_bytes_do_not_contain_the_secret: VaultOfGlass "the secret is visible";
        other_bytes_do_not_open: VaultUnsealed "altered bytes are accepted";
        a_sealed_secret_opens_unchanged: AlwaysReseal "resealing is always requested";
    }
    entropy(entropy) {
        every_byte_is_filled: TailLeftOver "the last bytes are not filled";
        draws_never_repeat:
            SameAgain "a draw repeats the previous one",
            HandlesAlike "two handles draw the same bytes";
        all_values_are_equally_likely: SevenBits "some byte values never occur";
        keys_are_drawn_from_the_same_source: DrawsNothing "a key is all zeros";
    }
    scheduler(|fault| Fresh::new(wrong(fault))) {
        tasks_outlive_their_starter: WorkIsForgotten "tasks are never run";
        a_pause_lasts_its_length: PauseIsShort "a pause ends early";
        finish_waits_for_tasks_up_to_its_timeout: EndDoesNotWait "finish does not wait";
        tasks_run_concurrently: OneAtATime "tasks run one after the other";
        finish_waits_for_tasks_started_by_tasks: EndWaitsForTheFirst "finish waits for the first task only";
    }
}

fn entropy(fault: Fault) -> Fresh<dyn Entropy> {
    match fault {
        Fault::HandlesAlike => handles(|| -> Arc<dyn Entropy> { wrong(fault) }),
        _ => Fresh::new(wrong(fault)),
    }
}

struct Wrong {
    fault: Fault,
    calls: AtomicU64,
    vault: Mutex<TestVault>,
    entropy: SeededEntropy,
    scheduler: TestScheduler,
    first: TestScheduler,
    line: Arc<tokio::sync::Mutex<()>>,
}

fn wrong(fault: Fault) -> Arc<Wrong> {
    Arc::new(Wrong {
        fault,
        calls: AtomicU64::new(0),
        vault: Mutex::default(),
        entropy: SeededEntropy::default(),
        scheduler: TestScheduler::default(),
        first: TestScheduler::default(),
        line: Arc::default(),
    })
}

#[async_trait]
impl Health for Wrong {
    async fn check(&self) -> Result<(), StoreError> {
        match self.calls.fetch_add(1, Ordering::SeqCst) {
            0 => Ok(()),
            _ => Err(StoreError::unavailable("asked before")),
        }
    }
}

impl Vault for Wrong {
    fn seal(&self, user: UserId, secret: &[u8]) -> Sealed {
        match self.fault {
            Fault::VaultIgnoresUser => locked(&self.vault).seal(any_user(user), secret),
            Fault::VaultOfGlass => {
                let sealed = locked(&self.vault).seal(user, secret);
                Sealed::from_bytes([sealed.as_bytes(), secret].concat())
            }
            Fault::NonceOfOneByte => {
                if self.calls.fetch_add(1, Ordering::SeqCst).is_multiple_of(256) {
                    *locked(&self.vault) = TestVault::default();
                }
                locked(&self.vault).seal(user, secret)
            }
            Fault::VaultUnsealed => Sealed::from_bytes(secret.iter().map(|byte| !byte).collect()),
            _ => locked(&self.vault).seal(user, secret),
        }
    }

    fn open(&self, user: UserId, sealed: &Sealed) -> Result<Opened, VaultError> {
        match self.fault {
            Fault::VaultIgnoresUser => locked(&self.vault).open(any_user(user), sealed),
            Fault::VaultUnsealed => {
                let secret = sealed.as_bytes().iter().map(|byte| !byte).collect::<Vec<_>>();
                Ok(Opened { secret: secret.into(), reseal: false })
            }
            Fault::AlwaysReseal => Ok(Opened { reseal: true, ..locked(&self.vault).open(user, sealed)? }),
            _ => locked(&self.vault).open(user, sealed),
        }
    }
}

fn any_user(user: UserId) -> UserId {
    UserId::new(1).unwrap_or(user)
}

impl Entropy for Wrong {
    fn fill(&self, bytes: &mut [u8]) {
        match self.fault {
            Fault::TailLeftOver => {
                let whole = bytes.len() / 8 * 8;
                if let Some(bytes) = bytes.get_mut(..whole) {
                    self.entropy.fill(bytes);
                }
            }
            Fault::SameAgain => SeededEntropy::default().fill(bytes),
            Fault::SevenBits => {
                self.entropy.fill(bytes);
                bytes.iter_mut().for_each(|byte| *byte &= 0x7F);
            }
            _ => self.entropy.fill(bytes),
        }
    }

    fn draw(&self) -> Zeroizing<[u8; 32]> {
        let mut drawn = Zeroizing::new([0; 32]);
        if !matches!(self.fault, Fault::DrawsNothing) {
            self.fill(drawn.as_mut_slice());
        }
        drawn
    }
}

#[async_trait]
impl Scheduler for Wrong {
    fn start(&self, work: Work) {
        match self.fault {
            Fault::WorkIsForgotten => drop(work),
            Fault::OneAtATime => {
                let line = Arc::clone(&self.line);
                self.scheduler.start(Box::pin(async move {
                    let _turn = line.lock().await;
                    work.await;
                }));
            }
            Fault::EndWaitsForTheFirst if self.calls.fetch_add(1, Ordering::SeqCst) == 0 => {
                self.first.start(work);
            }
            _ => self.scheduler.start(work),
        }
    }

    async fn pause(&self, length: Duration) {
        if !matches!(self.fault, Fault::PauseIsShort) {
            self.scheduler.pause(length).await;
        }
    }

    async fn finish(&self, patience: Duration) {
        match self.fault {
            Fault::OneAtATime => self.scheduler.finish(patience).await,
            Fault::EndWaitsForTheFirst => self.first.finish(patience).await,
            _ => {}
        }
    }
}
