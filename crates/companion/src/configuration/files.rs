//! Files that are read repeatedly while the service runs, such as the TLS certificate and its key.

use super::{error::KeyError, keys::Http};
use companion_http::{TlsError, TlsIdentity};
use rustix::fs::OFlags;
use std::{
    fs::{File, OpenOptions},
    io::{self, Read as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};
use zeroize::Zeroizing;

/// Opens a regular file for reading. Follows symlinks, because Kubernetes secrets are symlinks.
///
/// # Errors
///
/// If the path is no regular file. It is refused without blocking: reading a FIFO without a writer would block for
/// ever, and a device may have no end.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    let non_blocking = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(non_blocking).open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"))
    }
}

const CERTIFICATE: &str = "http.tls_certificate";
const KEY: &str = "http.tls_key";

/// Paths of the TLS certificate and its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    certificate: PathBuf,
    key: PathBuf,
}

/// Contents of the TLS certificate and its key.
#[derive(Clone, PartialEq, Eq)]
pub struct TlsText {
    certificate: Vec<u8>,
    key: Zeroizing<Vec<u8>>,
}

impl TlsFiles {
    /// Returns the configured files, or `None` unless both are configured.
    #[must_use]
    pub fn of(http: &Http) -> Option<Self> {
        let (certificate, key) = http.tls_certificate.clone().zip(http.tls_key.clone())?;
        Some(Self { certificate, key })
    }

    /// Reads both files.
    pub fn read(&self) -> Result<TlsText, KeyError> {
        let read = |key: &str, path: &PathBuf| {
            let mut bytes = Vec::new();
            let read = open_regular(path).and_then(|mut file| file.read_to_end(&mut bytes));
            read.map(|_| bytes).map_err(|error| {
                let fix = "name a file in PEM that the service may read";
                KeyError::together(key, format!("{} cannot be read: {error}", path.display()), fix)
            })
        };
        let certificate = read(CERTIFICATE, &self.certificate)?;
        Ok(TlsText { certificate, key: Zeroizing::new(read(KEY, &self.key)?) })
    }

    /// Parses the contents into a TLS identity.
    pub fn identity(&self, text: &TlsText) -> Result<TlsIdentity, KeyError> {
        TlsIdentity::from_pem(&text.certificate, &text.key).map_err(|error| {
            let (certificate, private) = ((CERTIFICATE, &self.certificate), (KEY, &self.key));
            let ((key, path), fix) = match error {
                TlsError::NoCertificate => (
                    certificate,
                    "name the file with the certificate first and those of its issuers after it, such as fullchain.pem",
                ),
                TlsError::NoKey => {
                    (private, "name the file with the private key, unencrypted, such as privkey.pem")
                }
                TlsError::Mismatch => {
                    (private, "name the key that http.tls_certificate was made with, or renew both")
                }
                TlsError::Unusable(_) => (certificate, "use an RSA, ECDSA or Ed25519 certificate of version 3"),
            };
            KeyError::together(key, format!("{} {error}", path.display()), fix)
        })
    }
}

/// Returns what is wrong with the TLS files, as they are now.
pub(super) fn find_error(http: &Http) -> Option<KeyError> {
    let half = |missing: &str, set: &str| {
        let problem = format!("must be set together with {set}");
        Some(KeyError::together(missing, problem, format!("name the other file too, or take {set} out")))
    };
    match (&http.tls_certificate, &http.tls_key) {
        (Some(_), None) => half(KEY, CERTIFICATE),
        (None, Some(_)) => half(CERTIFICATE, KEY),
        (None, None) | (Some(_), Some(_)) => {
            let files = TlsFiles::of(http)?;
            files.read().and_then(|text| files.identity(&text)).err()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, Mode, mkfifoat};
    use std::{fs, os::unix::fs::symlink};

    #[test]
    fn refuses_fifos_folders_and_devices_without_blocking() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo");
        mkfifoat(CWD, &fifo, Mode::RUSR | Mode::WUSR).unwrap();
        let link = folder.path().join("link");
        symlink(&fifo, &link).unwrap();
        for path in [&*fifo, &link, folder.path(), Path::new("/dev/zero")] {
            let refused = open_regular(path).unwrap_err();
            assert_eq!(refused.to_string(), "it is not a regular file", "{}", path.display());
        }
    }

    #[test]
    fn follows_symlinks_to_files() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "content").unwrap();
        symlink(&file, &link).unwrap();
        assert_eq!(io::read_to_string(open_regular(&link).unwrap()).unwrap(), "content");
    }
}
