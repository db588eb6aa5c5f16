//! Wrong adapters of the plain ports: health, vault, entropy and scheduler.

use crate::conformance::proof::{Proof, Workshop, handles, memory};
use async_trait::async_trait;
use companion_domain::{
    model::UserId,
    port::{Entropy, Health, Opened, Scheduler, Sealed, StoreError, Vault, VaultError, Work},
};
use companion_testkit::{
    conformance::{Fresh, entropy, health, scheduler, vault},
    entropy::SeededEntropy,
    scheduler::TestScheduler,
    vault::TestVault,
};
use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::task::JoinHandle;
use zeroize::Zeroizing;

#[derive(Clone, Copy)]
enum Fault {
    HealthyOnce,
    VaultForAnyone,
    VaultWithoutChance,
    VaultOfGlass,
    VaultUnsealed,
    AlwaysReseal,
    TailLeftOver,
    SameAgain,
    SevenBits,
    WorkIsForgotten,
    PauseIsShort,
    EndDoesNotWait,
    NonceOfOneByte,
    DrawsNothing,
    HandlesAlike,
    OneAtATime,
    EndWaitsForTheFirst,
    EndIgnoresOffspring,
}

pub(crate) fn proofs() -> Vec<Proof> {
    use Fault as F;
    let healths = Workshop {
        suite: "health",
        behaviours: health::SUITE,
        sound: || Fresh::new(memory()),
        wrong: |fault| Fresh::new(wrong(fault)),
    };
    let vaults = Workshop {
        suite: "vault",
        behaviours: vault::SUITE,
        sound: || Fresh::new(Arc::new(TestVault::default())),
        wrong: |fault| Fresh::new(wrong(fault)),
    };
    let entropies = Workshop {
        suite: "entropy",
        behaviours: entropy::SUITE,
        sound: || Fresh::new(Arc::new(SeededEntropy::default())),
        wrong: |fault| match fault {
            F::HandlesAlike => handles(|| -> Arc<dyn Entropy> { wrong(fault) }),
            _ => Fresh::new(wrong(fault)),
        },
    };
    let schedulers = Workshop {
        suite: "scheduler",
        behaviours: scheduler::SUITE,
        sound: || Fresh::new(Arc::new(TestScheduler::default())),
        wrong: |fault| Fresh::new(wrong(fault)),
    };
    let mut proofs = healths.proofs(&[(
        F::HealthyOnce,
        "only the first check answers",
        "asking_changes_nothing_about_the_answer",
    )]);
    proofs.extend(vaults.proofs(&[
        (
            F::VaultForAnyone,
            "the vault takes no notice of the user",
            "a_secret_opens_for_its_user_and_nobody_else",
        ),
        (F::VaultWithoutChance, "sealing is repeatable", "sealing_the_same_twice_gives_different_bytes"),
        (F::VaultOfGlass, "the secret shows", "a_sealed_secret_does_not_show"),
        (F::VaultUnsealed, "altered bytes open", "whatever_was_altered_does_not_open"),
        (
            F::AlwaysReseal,
            "everything should be sealed again",
            "what_was_just_sealed_need_not_be_sealed_again",
        ),
        (
            F::NonceOfOneByte,
            "what makes sealed bytes differ runs out",
            "sealing_the_same_twice_gives_different_bytes",
        ),
    ]));
    proofs.extend(entropies.proofs(&[
        (F::TailLeftOver, "the last bytes are not filled", "every_byte_is_filled"),
        (F::SameAgain, "a draw repeats the one before", "no_draw_repeats_another"),
        (F::SevenBits, "some values never come", "all_values_are_equally_likely"),
        (F::DrawsNothing, "a key is drawn from nothing", "what_is_drawn_for_a_key_is_filled_in_the_same_way"),
        (F::HandlesAlike, "two handles draw the same", "handles_draw_different_bytes"),
    ]));
    proofs.extend(schedulers.proofs(&[
        (F::WorkIsForgotten, "work is never done", "started_work_goes_on_to_its_end"),
        (F::PauseIsShort, "a pause ends early", "a_pause_lasts_as_long_as_it_should"),
        (
            F::EndDoesNotWait,
            "the end waits for nothing",
            "the_end_waits_for_what_was_started_but_not_for_ever",
        ),
        (F::OneAtATime, "work waits for the work before it", "work_waits_for_no_other_work"),
        (
            F::EndWaitsForTheFirst,
            "the end waits for the first work alone",
            "the_end_waits_for_all_work_and_for_what_it_started",
        ),
        (
            F::EndIgnoresOffspring,
            "the end does not wait for what work has started",
            "the_end_waits_for_all_work_and_for_what_it_started",
        ),
    ]));
    proofs
}

struct Wrong {
    fault: Fault,
    calls: AtomicU64,
    vault: Mutex<TestVault>,
    entropy: SeededEntropy,
    scheduler: TestScheduler,
    first: TestScheduler,
    line: Arc<tokio::sync::Mutex<()>>,
    started: Mutex<Vec<JoinHandle<()>>>,
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
        started: Mutex::default(),
    })
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
            Fault::VaultForAnyone => locked(&self.vault).seal(anyone(user), secret),
            Fault::VaultWithoutChance => TestVault::default().seal(user, secret),
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
            Fault::VaultForAnyone => locked(&self.vault).open(anyone(user), sealed),
            Fault::VaultUnsealed => {
                let secret = sealed.as_bytes().iter().map(|byte| !byte).collect::<Vec<_>>();
                Ok(Opened { secret: secret.into(), reseal: false })
            }
            Fault::AlwaysReseal => Ok(Opened { reseal: true, ..locked(&self.vault).open(user, sealed)? }),
            _ => locked(&self.vault).open(user, sealed),
        }
    }
}

fn anyone(user: UserId) -> UserId {
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
            Fault::EndIgnoresOffspring => locked(&self.started).push(tokio::spawn(work)),
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
            Fault::EndIgnoresOffspring => {
                let deadline = tokio::time::Instant::now() + patience;
                let mut started = std::mem::take(&mut *locked(&self.started));
                while let Some(work) = started.first_mut() {
                    if tokio::time::timeout_at(deadline, work).await.is_err() {
                        break;
                    }
                    started.remove(0);
                }
                locked(&self.started).append(&mut started);
            }
            _ => {}
        }
    }
}
