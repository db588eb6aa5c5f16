//! The contract of a [`Vault`]. Key rotation is covered by the adapter's own tests, which alone know its keys.

use super::{
    CALLERS, Fresh,
    sample::{BEYOND_SIGNED, user_id},
};
use companion_domain::port::{Sealed, Vault, VaultError};
use std::collections::HashSet;

suite! {
    /// Generates one test per behaviour of a `Vault`.
    vault_conformance($): vault, dyn Vault;
    a_sealed_secret_opens_unchanged,
    a_secret_opens_only_for_its_user,
    sealing_twice_yields_different_bytes,
    sealed_bytes_do_not_contain_the_secret,
    other_bytes_do_not_open,
}

const SECRET: &[u8] = b"a secret that is long enough to be recognised";

async fn a_sealed_secret_opens_unchanged(fresh: &Fresh<Port>) {
    let long: Vec<u8> = (0..=255).cycle().take(10_000).collect();
    for secret in [&[][..], &[0], SECRET, &long] {
        let sealed = fresh.one.seal(user_id(1), secret);
        for vault in [&fresh.one, &fresh.other] {
            let opened = vault.open(user_id(1), &sealed).unwrap();
            assert_eq!((opened.secret.as_slice(), opened.reseal), (secret, false));
        }
    }
}

async fn a_secret_opens_only_for_its_user(fresh: &Fresh<Port>) {
    let users = [1, 2, 256, 1 << 32, BEYOND_SIGNED, BEYOND_SIGNED + 1, u64::MAX].map(user_id);
    for owner in users {
        let sealed = fresh.one.seal(owner, SECRET);
        for user in users {
            let opened = fresh.one.open(user, &sealed).map(|opened| opened.secret.to_vec());
            assert_eq!(
                opened,
                if user == owner { Ok(SECRET.to_vec()) } else { Err(VaultError) },
                "{user} {owner}"
            );
        }
    }
}

async fn sealing_twice_yields_different_bytes(fresh: &Fresh<Port>) {
    const EACH: usize = 64;
    let sealed = fresh
        .concurrently(|_, vault| async move { (0..EACH).map(|_| vault.seal(user_id(1), SECRET)).collect() })
        .await;
    let sealed: Vec<Sealed> = sealed.into_iter().flat_map(|some: Vec<Sealed>| some).collect();
    assert!(sealed.iter().all(|sealed| *fresh.one.open(user_id(1), sealed).unwrap().secret == SECRET));
    let different: HashSet<_> = sealed.iter().map(Sealed::as_bytes).collect();
    assert_eq!(different.len(), EACH * CALLERS as usize);
}

async fn sealed_bytes_do_not_contain_the_secret(fresh: &Fresh<Port>) {
    let sealed = fresh.one.seal(user_id(1), SECRET);
    // Not even a fragment of it.
    for piece in SECRET.windows(6) {
        assert!(!sealed.as_bytes().windows(6).any(|bytes| bytes == piece));
    }
}

/// One changed bit, a part of the bytes, one byte more, and no seal at all.
async fn other_bytes_do_not_open(fresh: &Fresh<Port>) {
    let sealed = fresh.one.seal(user_id(1), SECRET).as_bytes().to_vec();
    let altered = (0..sealed.len() * 8).map(|bit| {
        let mut bytes = sealed.clone();
        bytes.iter_mut().skip(bit / 8).take(1).for_each(|byte| *byte ^= 1 << (bit % 8));
        bytes
    });
    let starts = (0..sealed.len()).map(|length| sealed.iter().copied().take(length).collect());
    let ends = (1..=sealed.len()).map(|left_out| sealed.iter().copied().skip(left_out).collect());
    let constant = (0..200).flat_map(|length| [0, 1, 255].map(|byte| vec![byte; length]));
    let longer = [sealed.as_slice(), &[0]].concat();
    for bytes in altered.chain(starts).chain(ends).chain(constant).chain([longer]) {
        let opened = fresh.one.open(user_id(1), &Sealed::from_bytes(bytes.clone()));
        assert_eq!(opened, Err(VaultError), "{bytes:?}");
    }
}
