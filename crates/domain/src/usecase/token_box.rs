//! Serialisation and sealing of platform tokens.

use crate::{
    model::{PlatformTokens, Secret, Timestamp, UserId},
    port::{Sealed, Vault, VaultError},
};
use zeroize::Zeroizing;

/// Version of the sealed format. A new format gets a new number, so that old grants stay readable.
const FORMAT_VERSION: u8 = 1;

/// Seals tokens for a user.
pub(super) fn seal(vault: &dyn Vault, user: UserId, tokens: &PlatformTokens) -> Sealed {
    let access = tokens.access.expose().as_bytes();
    let mut bytes = Zeroizing::new(vec![FORMAT_VERSION]);
    bytes.extend_from_slice(&tokens.expires_at.micros().to_le_bytes());
    bytes.extend_from_slice(&(access.len() as u64).to_le_bytes());
    bytes.extend_from_slice(access);
    if let Some(refresh) = &tokens.refresh {
        bytes.extend_from_slice(refresh.expose().as_bytes());
    }
    vault.seal(user, &bytes)
}

/// Opens a user's tokens. The flag says that they should be sealed again with the newest key.
pub(super) fn open(
    vault: &dyn Vault,
    user: UserId,
    sealed: &Sealed,
) -> Result<(PlatformTokens, bool), VaultError> {
    let opened = vault.open(user, sealed)?;
    let tokens = read(&opened.secret).ok_or(VaultError)?;
    Ok((tokens, opened.reseal))
}

fn read(bytes: &[u8]) -> Option<PlatformTokens> {
    let (version, rest) = bytes.split_first()?;
    let (expires, rest) = rest.split_first_chunk()?;
    let (length, rest) = rest.split_first_chunk()?;
    let (access, refresh) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
    let secret = |bytes: &[u8]| std::str::from_utf8(bytes).ok().map(|text| Secret::new(text.to_owned()));
    (*version == FORMAT_VERSION).then_some(())?;
    Some(PlatformTokens {
        access: secret(access)?,
        refresh: if refresh.is_empty() { None } else { Some(secret(refresh)?) },
        expires_at: Timestamp::from_micros(i64::from_le_bytes(*expires)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::port::Opened;
    use proptest::prelude::*;

    /// A vault without encryption, so that tests see the sealed bytes.
    struct PlainVault;

    impl Vault for PlainVault {
        fn seal(&self, _: UserId, secret: &[u8]) -> Sealed {
            Sealed::from_bytes(secret.to_vec())
        }

        fn open(&self, _: UserId, sealed: &Sealed) -> Result<Opened, VaultError> {
            Ok(Opened { secret: Zeroizing::new(sealed.as_bytes().to_vec()), reseal: true })
        }
    }

    proptest! {
        #[test]
        fn tokens_round_trip(access in "\\PC{0,40}", refresh in "\\PC{0,40}", expires in any::<i64>()) {
            let tokens = PlatformTokens {
                access: Secret::new(access),
                refresh: Some(refresh).filter(|text| !text.is_empty()).map(Secret::new),
                expires_at: Timestamp::from_micros(expires),
            };
            let user = UserId::new(1).unwrap();
            prop_assert_eq!(open(&PlainVault, user, &seal(&PlainVault, user, &tokens)), Ok((tokens, true)));
        }

        #[test]
        fn rejects_truncated_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..17)) {
            prop_assert_eq!(open(&PlainVault, UserId::new(1).unwrap(), &Sealed::from_bytes(bytes)), Err(VaultError));
        }
    }

    #[test]
    fn rejects_another_format_version() {
        let user = UserId::new(1).unwrap();
        let tokens =
            PlatformTokens { access: Secret::new("a".into()), refresh: None, expires_at: Timestamp::EPOCH };
        let mut bytes = seal(&PlainVault, user, &tokens).as_bytes().to_vec();
        bytes[0] = 2;
        assert_eq!(open(&PlainVault, user, &Sealed::from_bytes(bytes)), Err(VaultError));
    }
}
