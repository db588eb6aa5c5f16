//! Wrong adapters of the plain ports: health, vault, entropy and scheduler.

use crate::proof::{Proof, Workshop, memory};
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
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

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
        wrong: |fault| Fresh::new(wrong(fault)),
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
    ]));
    proofs.extend(entropies.proofs(&[
        (F::TailLeftOver, "the last bytes are not filled", "every_byte_is_filled"),
        (F::SameAgain, "a draw repeats the one before", "no_draw_repeats_another"),
        (F::SevenBits, "some values never come", "all_values_are_equally_likely"),
    ]));
    proofs.extend(schedulers.proofs(&[
        (F::WorkIsForgotten, "work is never done", "started_work_goes_on_to_its_end"),
        (F::PauseIsShort, "a pause ends early", "a_pause_lasts_as_long_as_it_should"),
        (
            F::EndDoesNotWait,
            "the end waits for nothing",
            "the_end_waits_for_what_was_started_but_not_for_ever",
        ),
    ]));
    proofs
}

struct Wrong {
    fault: Fault,
    calls: AtomicU64,
    vault: TestVault,
    entropy: SeededEntropy,
}

fn wrong(fault: Fault) -> Arc<Wrong> {
    let (calls, vault, entropy) = (AtomicU64::new(0), TestVault::default(), SeededEntropy::default());
    Arc::new(Wrong { fault, calls, vault, entropy })
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
            Fault::VaultForAnyone => self.vault.seal(anyone(user), secret),
            Fault::VaultWithoutChance => TestVault::default().seal(user, secret),
            Fault::VaultOfGlass => {
                let sealed = self.vault.seal(user, secret);
                Sealed::from_bytes([sealed.as_bytes(), secret].concat())
            }
            Fault::VaultUnsealed => Sealed::from_bytes(secret.iter().map(|byte| !byte).collect()),
            _ => self.vault.seal(user, secret),
        }
    }

    fn open(&self, user: UserId, sealed: &Sealed) -> Result<Opened, VaultError> {
        match self.fault {
            Fault::VaultForAnyone => self.vault.open(anyone(user), sealed),
            Fault::VaultUnsealed => {
                let secret = sealed.as_bytes().iter().map(|byte| !byte).collect::<Vec<_>>();
                Ok(Opened { secret: secret.into(), reseal: false })
            }
            Fault::AlwaysReseal => Ok(Opened { reseal: true, ..self.vault.open(user, sealed)? }),
            _ => self.vault.open(user, sealed),
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
}

#[async_trait]
impl Scheduler for Wrong {
    fn start(&self, work: Work) {
        match self.fault {
            Fault::WorkIsForgotten => drop(work),
            _ => TestScheduler::default().start(work),
        }
    }

    async fn pause(&self, length: Duration) {
        if !matches!(self.fault, Fault::PauseIsShort) {
            TestScheduler::default().pause(length).await;
        }
    }

    async fn finish(&self, _: Duration) {}
}
